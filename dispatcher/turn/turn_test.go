package turn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	kinds "github.com/reroll-dev/reroll/reloader/workload"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	app  = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}
	web  = workload("web")

	webRef = web.Ref()
)

// workload returns one of the namespace shop.
func workload(name string) *kinds.Workload { return in("shop", name) }

func in(namespace, name string) *kinds.Workload {
	w := &kinds.Workload{Kind: "Deployment"}
	w.Namespace, w.Name, w.Labels = namespace, name, map[string]string{"app": name}
	return w
}

// after returns the time that many seconds after noon.
func after(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// heard is the wait for changes at seconds after noon.
func heard(seconds ...float64) (w turn.Wait) {
	for _, s := range seconds {
		w = w.Heard(after(s), after(s))
	}
	return w
}

func span(d time.Duration) *time.Duration { return &d }

func TestDue(t *testing.T) {
	usual := turn.Debounce{Window: time.Second, MaxWait: 10 * time.Second}
	for name, c := range map[string]struct {
		turn turn.Turn
		now  float64
		want float64 // seconds after noon; negative for none
	}{
		"nothing waits":                     {turn.Turn{}, 0, -1},
		"one change":                        {turn.Turn{Wait: heard(5)}, 5, 6},
		"asked late":                        {turn.Turn{Wait: heard(5)}, 60, 6},
		"two changes":                       {turn.Turn{Wait: heard(5, 5.5)}, 5.5, 6.5},
		"the newest of several configs":     {turn.Turn{Wait: heard(5).And(heard(5.9))}, 5.9, 6.9},
		"no longer than the maximum wait":   {turn.Turn{Wait: heard(0, 9.9).And(heard(9))}, 9.9, 10},
		"an older change reported later":    {turn.Turn{Wait: heard(5, 2)}, 6, 6},
		"a window of its own":               {turn.Turn{Wait: heard(5), Chosen: dialect.Chosen{Debounce: span(3 * time.Second)}}, 5, 8},
		"no window":                         {turn.Turn{Wait: heard(5), Chosen: dialect.Chosen{Debounce: span(0)}}, 5, 5},
		"a window beyond the maximum wait":  {turn.Turn{Wait: heard(5, 6), Chosen: dialect.Chosen{Debounce: span(time.Minute)}}, 6, 65},
		"hints still to be looked at":       {turn.Turn{Wait: heard(5), Looking: true}, 6, 6.05},
		"hints within the window":           {turn.Turn{Wait: heard(5), Looking: true}, 5, 6},
		"hints at the maximum wait":         {turn.Turn{Wait: heard(0), Looking: true}, 11, 10},
		"hints, and no window":              {turn.Turn{Wait: heard(5), Looking: true, Chosen: dialect.Chosen{Debounce: span(0)}}, 6, 5},
		"a request":                         {turn.Turn{Requested: true}, 7, 7},
		"a request while something waits":   {turn.Turn{Requested: true, Wait: heard(5)}, 5.1, 5.1},
		"a change dated a day ahead":        {turn.Turn{Wait: turn.Wait{}.Heard(noon.Add(24*time.Hour), noon)}, 0.5, 1},
		"a change dated ahead, asked later": {turn.Turn{Wait: turn.Wait{}.Heard(noon.Add(24*time.Hour), noon)}, 30, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.turn.Debounce = usual
			due := turn.Due(c.turn, after(c.now))
			if c.want < 0 != due.IsZero() || c.want >= 0 && !due.Equal(after(c.want)) {
				t.Errorf("due %s after noon, want %v", due.Sub(noon), c.want)
			}
		})
	}
}

// TestFlapping: two controllers overwrite each other's content every 30 s for a day. The limit goes through, and then a few rolls an hour. A
// process that starts before each decision, with Pace alone, makes the same ones.
func TestFlapping(t *testing.T) {
	w := turn.Turn{Peer: turn.Peer{Workload: web}, Limits: turn.Limits{FlapLimit: 30}}
	rolls := 0
	for i := range 24 * 120 {
		now := noon.Add(time.Duration(i) * 30 * time.Second)
		restarted := turn.Turn{Peer: turn.Peer{Workload: web, Pace: turn.Pace{Rolls: w.Pace.Rolls, At: w.Pace.At.Round(0)}}, Limits: w.Limits}
		hold, again := turn.Decide(w, turn.Peers{}, control.Control{}, now), turn.Decide(restarted, turn.Peers{}, control.Control{}, now)
		if hold == nil != (again == nil) || hold != nil && *hold != *again {
			t.Fatalf("after a restart held by %+v, before by %+v", again, hold)
		}
		if hold == nil {
			w.Pace = w.Pace.Rolled(now)
			rolls++
		}
	}
	if rolls < 30 || rolls > 30+24*5 {
		t.Errorf("%d rolls in a day, want the 30 that are let go, and a few an hour", rolls)
	}
	if hold := turn.Decide(w, turn.Peers{}, control.Control{}, w.Pace.At.Add(time.Hour)); hold != nil {
		t.Errorf("an hour after the last roll held by %+v", hold)
	}
}

// FuzzPace: whatever the text of a State says, a pace holds a workload back for an hour at most, and is forgotten.
func FuzzPace(f *testing.F) {
	f.Add(uint16(30), int64(0), 10)
	f.Add(uint16(9_999), int64(math.MinInt64), 0)
	f.Add(uint16(0), int64(math.MaxInt64), -1)
	f.Fuzz(func(t *testing.T, rolls uint16, at int64, limit int) {
		w := turn.Turn{Peer: turn.Peer{Workload: web, Pace: turn.Pace{Rolls: float64(rolls), At: time.Unix(at, 0)}}, Limits: turn.Limits{FlapLimit: limit}}
		if hold := turn.Decide(w, turn.Peers{}, control.Control{}, noon); hold != nil && hold.Due.After(noon.Add(time.Hour)) {
			t.Errorf("held until %s", hold.Due)
		}
		if p := w.Pace.Rolled(noon); p.Rolls < 1 || p.Rolls > float64(rolls)+1 || !p.At.Equal(noon) {
			t.Errorf("after a roll: %+v", p)
		}
	})
}

// TestRates: many workloads go one after the other, a tenth of a minute's at once and the first that waits first. Each learns when its turn comes.
func TestRates(t *testing.T) {
	all := make([]turn.Peer, 150)
	for i := range all {
		all[i].Workload = workload(fmt.Sprint("web-", i))
	}
	next, last := make([]time.Time, len(all)), -1 // when each is decided about, and the last one that has begun
	tries, began := 0, [3]int{}
	for tenth := range 1800 {
		now := after(float64(tenth) / 10)
		for i := last + 1; i < len(all); i++ {
			if next[i].After(now) {
				continue
			}
			tries++
			w := turn.Turn{Peer: all[i], Limits: turn.Limits{PerMinute: 60}}
			hold := turn.Decide(w, turn.Peers{All: slices.Values(all)}, control.Control{}, now)
			if hold == nil {
				all[i].Hold, all[i].Pace, last = nil, turn.Pace{At: now}, i
				began[tenth/600]++
				continue
			}
			hold.Since = noon.Add(time.Duration(i) - time.Second) // they came one after the other
			all[i].Hold, next[i] = hold, hold.Due
		}
		if tenth == 0 && last != 5 {
			t.Errorf("%d began at once, want 6", last+1)
		}
	}
	if last != len(all)-1 || began[0] > 60 || began[1] > 60 || tries > 2*len(all) {
		t.Errorf("in each minute began %v, want 60 at most; the last one is %d; they were decided about %d times", began, last, tries)
	}
}

// TestLostTurn: workloads that cannot begin when their turn comes, as in a namespace whose webhook hangs, hold up no others.
func TestLostTurn(t *testing.T) {
	hold := &reloader.Hold{Reason: reloader.ReasonLimited, Since: noon, Due: after(60)}
	all := []turn.Peer{{Workload: workload("a"), Hold: hold}, {Workload: workload("b"), Hold: hold}}
	w := turn.Turn{Peer: turn.Peer{Workload: web}, Limits: turn.Limits{PerMinute: 1}}
	for at, want := range map[float64]bool{30: true, 61: false} {
		if held := turn.Decide(w, turn.Peers{All: slices.Values(all)}, control.Control{}, after(at)) != nil; held != want {
			t.Errorf("after %v s held is %t, want %t", at, held, want)
		}
	}
}

// TestRequestedRollsCount: a roll that a user requested does not wait for the rates, and the others wait for it, whichever process made it.
func TestRequestedRollsCount(t *testing.T) {
	w := turn.Turn{Peer: turn.Peer{Workload: web}, Limits: turn.Limits{PerMinute: 1}, Requested: true}
	peers := turn.Peers{All: slices.Values([]turn.Peer{{Workload: workload("other"), Pace: turn.Pace{At: noon}}})}
	if hold := turn.Decide(w, peers, control.Control{}, after(1)); hold != nil {
		t.Fatalf("held by %+v", hold)
	}
	w.Requested = false
	if hold := turn.Decide(w, peers, control.Control{}, after(1)); hold == nil || !hold.Due.Equal(after(60)) {
		t.Errorf("held by %+v", hold)
	}
	if w.Going = true; turn.Decide(w, peers, control.Control{}, after(1)) != nil {
		t.Error("one that reloads its running pods waits in between")
	}
}
