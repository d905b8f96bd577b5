package turn_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	kinds "github.com/reroll-dev/reroll/reloader/workload"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	app  = config("app")
	web  = workload("web")

	webRef = web.Ref()
)

func config(name string) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: name}
}

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
		"one change":                        {turn.Turn{Waits: waits(heard(5))}, 5, 6},
		"asked late":                        {turn.Turn{Waits: waits(heard(5))}, 60, 6},
		"two changes":                       {turn.Turn{Waits: waits(heard(5, 5.5))}, 5.5, 6.5},
		"the newest of several configs":     {turn.Turn{Waits: waits(heard(5), heard(5.9))}, 5.9, 6.9},
		"no longer than the maximum wait":   {turn.Turn{Waits: waits(heard(0, 9.9), heard(9))}, 9.9, 10},
		"an older change reported later":    {turn.Turn{Waits: waits(heard(5, 2))}, 6, 6},
		"a window of its own":               {turn.Turn{Waits: waits(heard(5)), Asks: turn.Asks{Window: span(3 * time.Second)}}, 5, 8},
		"no window":                         {turn.Turn{Waits: waits(heard(5)), Asks: turn.Asks{Window: span(0)}}, 5, 5},
		"a window beyond the maximum wait":  {turn.Turn{Waits: waits(heard(5, 6)), Asks: turn.Asks{Window: span(time.Minute)}}, 6, 65},
		"hints still to be looked at":       {turn.Turn{Waits: waits(heard(5)), Looking: true}, 6, 6.05},
		"hints within the window":           {turn.Turn{Waits: waits(heard(5)), Looking: true}, 5, 6},
		"hints at the maximum wait":         {turn.Turn{Waits: waits(heard(0)), Looking: true}, 11, 10},
		"hints, and no window":              {turn.Turn{Waits: waits(heard(5)), Looking: true, Asks: turn.Asks{Window: span(0)}}, 6, 5},
		"a request":                         {turn.Turn{Requested: true}, 7, 7},
		"a request while something waits":   {turn.Turn{Requested: true, Waits: waits(heard(5))}, 5.1, 5.1},
		"a change dated a day ahead":        {turn.Turn{Waits: waits(turn.Wait{}.Heard(noon.Add(24*time.Hour), noon))}, 0.5, 1},
		"a change dated ahead, asked later": {turn.Turn{Waits: waits(turn.Wait{}.Heard(noon.Add(24*time.Hour), noon))}, 30, 1},
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

// waits has a config for each wait.
func waits(all ...turn.Wait) map[reloader.Config]turn.Wait {
	found := map[reloader.Config]turn.Wait{}
	for i, w := range all {
		found[config(fmt.Sprint("c", i))] = w
	}
	return found
}

// TestRollsAtTheMaximumWait: one client edits 40 configs of one workload in turn every 20 ms for 35 s, and a roll takes 30 ms. Edits during a roll wait
// for a window of their own: no two rolls follow each other within the window.
func TestRollsAtTheMaximumWait(t *testing.T) {
	const edit, roll = 20 * time.Millisecond, 30 * time.Millisecond
	w := turn.Turn{Debounce: turn.Debounce{Window: time.Second, MaxWait: 10 * time.Second}, Waits: map[reloader.Config]turn.Wait{}}
	var configs []reloader.Config
	for i := range 40 {
		configs = append(configs, config(fmt.Sprint("c.", i)))
	}
	var rolls []time.Duration
	var ends, read time.Time
	for at, n := noon, 0; at.Before(after(60)); at = at.Add(time.Millisecond) {
		if at.Sub(noon)%edit == 0 && at.Before(after(35)) {
			c := configs[n%len(configs)]
			w.Waits[c] = w.Waits[c].Heard(at, at)
			n++
		}
		switch due := turn.Due(w, at); {
		case at.Equal(ends):
			w = rolled(w, configs, read, at)
			rolls = append(rolls, at.Sub(noon))
		case at.After(ends) && !due.IsZero() && !due.After(at):
			read, ends = at, at.Add(roll)
		}
	}
	if len(rolls) != 4 {
		t.Errorf("rolls at %v, want one at each maximum wait and one at the end", rolls)
	}
	for i := 1; i < len(rolls); i++ {
		if gap := rolls[i] - rolls[i-1]; gap < time.Second {
			t.Errorf("two rolls within %s", gap)
		}
	}
}

// TestRequestSettlesWhatWaits: a window holds a change back, and a user requests a roll. When the window opens, nothing waits for the content that
// went out with the request.
func TestRequestSettlesWhatWaits(t *testing.T) {
	night, err := control.ParseWindow("CRON_TZ=UTC 0 22 * * * 2h")
	if err != nil {
		t.Fatal(err)
	}
	other := config("other")
	w := turn.Turn{
		Workload: web, Limits: turn.Limits{Windows: []control.Window{night}},
		Waits: map[reloader.Config]turn.Wait{app: heard(0), other: heard(0)},
	}
	if d := turn.Decide(w, turn.Peers{}, control.Control{}, after(60)); d.Hold == nil || d.Hold.Reason != reloader.ReasonOutsideWindow {
		t.Fatalf("held by %+v", d.Hold)
	}
	w.Requested = true
	if d := turn.Decide(w, turn.Peers{}, control.Control{}, after(60)); d.Hold != nil {
		t.Fatalf("the request is held by %+v", d.Hold)
	}
	before := w
	w = rolled(w, []reloader.Config{app}, after(60), after(61))
	if _, waits := w.Waits[app]; waits || w.Requested || len(w.Waits) != 1 || len(before.Waits) != 2 {
		t.Errorf("after the roll: %+v, before it: %+v", w, before)
	}
	w = rolled(w, []reloader.Config{other}, after(60), after(61))
	if due := turn.Due(w, noon.Add(11*time.Hour)); !due.IsZero() {
		t.Errorf("due again at %s", due)
	}
}

// FuzzDue: whatever comes when, the window closes no later than the maximum wait after the oldest change, and no earlier than a window after the
// newest one unless that is the maximum wait. A roll leaves only changes after it.
func FuzzDue(f *testing.F) {
	f.Add([]byte{0, 1, 2, 200, 255}, uint16(1000), uint16(10_000), uint16(30))
	f.Add([]byte{255, 255, 0}, uint16(0), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, gaps []byte, window, longest, read uint16) {
		at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
		var w turn.Wait
		now, newest := 0, -1000 // milliseconds after noon
		for _, g := range gaps {
			now += int(g)
			newest = max(newest, now+int(g%3)*100-100)
			w = w.Heard(at(now+int(g%3)*100-100), at(now)) // some are dated earlier, and some ahead
		}
		newest = min(newest, now)
		debounce := turn.Debounce{Window: time.Duration(window) * time.Millisecond, MaxWait: time.Duration(longest) * time.Millisecond}
		one := turn.Turn{Debounce: debounce, Waits: map[reloader.Config]turn.Wait{app: w}}
		due := turn.Due(one, at(now))
		if len(gaps) == 0 {
			return
		}
		if latest := w.Since().Add(max(debounce.MaxWait, debounce.Window)); due.After(latest) || due.Before(at(newest)) && due.Before(latest) {
			t.Errorf("due %s, first %s, newest %d", due.Sub(noon), w.Since().Sub(noon), newest)
		}
		if w.Since().After(at(now)) {
			t.Errorf("it waits since the future: %s", w.Since())
		}
		left := rolled(one, []reloader.Config{app}, at(int(read)), at(int(read)))
		if since := left.Since(); !since.IsZero() && since.Before(at(int(read))) {
			t.Errorf("after a roll that read at %d it waits since %s", read, since.Sub(noon))
		}
		if len(one.Waits) != 1 {
			t.Error("the turn that was passed has changed")
		}
	})
}

// rolled returns w after a roll that took the content of some configs and began to read them at a time.
func rolled(w turn.Turn, taken []reloader.Config, read, now time.Time) turn.Turn {
	w.Waits = maps.Clone(w.Waits)
	for _, c := range taken {
		if rest, waits := w.Waits[c].After(read); waits {
			w.Waits[c] = rest
		} else {
			delete(w.Waits, c)
		}
	}
	w.Pace, w.Slot, w.Requested, w.Retry = w.Pace.Rolled(now), turn.Slot{}, false, false
	return w
}
