package turn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// scene is what a decision is made of.
type scene struct {
	turn    turn.Turn
	peers   turn.Peers
	control control.Control
	now     time.Time
}

func (s scene) decide() *reloader.Hold { return turn.Decide(s.turn, s.peers, s.control, s.now) }

// reason returns why the workload is held; empty if it goes.
func (s scene) reason() reloader.Reason {
	if hold := s.decide(); hold != nil {
		return hold.Reason
	}
	return ""
}

func parse(document string) control.Control {
	return control.Parse(map[string]string{control.Key: document})
}

const pausesText = `pauses: [{selector: app=web, until: "2026-11-21T14:00:00Z", reason: audit}]`

// holds has each brake in order: how to make it hold at noon, until when, and its message. requests and retries say whether it holds back a
// requested roll and a retried workload.
var holds = []struct {
	brake             reloader.Reason
	requests, retries bool
	until             time.Duration
	message           string
	set               func(*scene)
}{
	{reloader.ReasonFrozen, true, true, time.Hour, "incident 7", func(s *scene) {
		s.control = parse(`freeze: {reason: incident 7, until: "2026-11-21T13:00:00Z"}` + "\n" + pausesText)
	}},
	{reloader.ReasonPausedByOperator, true, true, 2 * time.Hour, "audit", func(s *scene) { s.control = parse(pausesText) }},
	{reloader.ReasonOutsideWindow, false, true, 10 * time.Hour, "", func(s *scene) {
		s.turn.Limits.Windows, _ = control.ParseWindows("CRON_TZ=UTC 0 22 * * * 2h")
	}},
	{reloader.ReasonTooSoon, false, false, time.Hour, "", func(s *scene) {
		s.turn.Limits.MinInterval, s.turn.Pace = time.Hour, turn.Pace{Rolls: 5, At: noon}
	}},
	{reloader.ReasonFlapping, false, false, 4 * time.Minute, "", func(s *scene) {
		s.turn.Limits.FlapLimit, s.turn.Pace = 3, turn.Pace{Rolls: 5, At: noon}
	}},
	{reloader.ReasonMissingConfig, false, true, 0, "no pod starts without ConfigMap/shop/absent", func(s *scene) { s.turn.Missing = "ConfigMap/shop/absent" }},
	{reloader.ReasonHalted, false, false, 0, "the reload of Deployment/shop/web for ConfigMap/shop/app has stalled", func(s *scene) {
		s.peers.Steps.Set(app, turn.Step{Waiting: 9, Reached: 1, Failed: &webRef})
	}},
	{reloader.ReasonWaitingForStep, false, true, 0, "ConfigMap/shop/app", func(s *scene) {
		s.peers.Steps.Set(app, turn.Step{Waiting: 9, Reached: 1})
	}},
	{reloader.ReasonLimited, false, true, 0, "rolloutLimits.maxConcurrentRollouts is 2", func(s *scene) {
		s.turn.Limits.Concurrent = 2
		s.peers.All = slices.Values([]turn.Peer{
			{Workload: web, Rollout: reloader.ReasonRolling}, // itself
			{Workload: workload("a"), Going: true}, {Workload: in("other", "web"), Rollout: reloader.ReasonRolling}, {Workload: workload("c"), Rollout: reloader.ReasonStalled},
		})
	}},
	{reloader.ReasonLimited, false, true, time.Minute, "rolloutLimits.reloadsPerMinute is 1", func(s *scene) {
		s.turn.Limits.PerMinute = 1
		s.peers.All = slices.Values([]turn.Peer{{Workload: workload("a"), Pace: turn.Pace{At: noon}}})
	}},
}

// calm returns a scene in which nothing holds.
func calm() scene {
	return scene{
		turn: turn.Turn{Peer: turn.Peer{Workload: web}, Wait: heard(0)},
		now:  noon,
	}
}

// TestBrakes: the first brake that holds gives reason, time and message. When it lets go, the next one holds, at the same moment: an earlier hold
// plays no part.
func TestBrakes(t *testing.T) {
	if len(holds) != len(turn.Brakes) {
		t.Fatalf("%d brakes, want %d", len(turn.Brakes), len(holds))
	}
	s := calm()
	if s.reason() != "" {
		t.Errorf("held for %s though nothing holds", s.reason())
	}
	for i, h := range slices.Backward(holds) {
		if name := turn.Brakes[i].Name; name != h.brake {
			t.Fatalf("brake %d is %s, want %s", i, name, h.brake)
		}
		h.set(&s)
		hold := s.decide()
		if hold == nil || hold.Reason != h.brake || hold.Message != h.message || h.until == 0 != hold.Due.IsZero() || h.until > 0 && !hold.Due.Equal(noon.Add(h.until)) {
			t.Errorf("held by %+v, want %s until %s: %q", hold, h.brake, h.until, h.message)
		}
	}
}

// TestRequestsAndRetries: which brakes hold back a roll that a user requested, and a workload that a user retries.
func TestRequestsAndRetries(t *testing.T) {
	for _, h := range holds {
		for _, c := range []struct {
			name  string
			holds bool
			set   func(*scene)
		}{
			{"nothing", true, func(*scene) {}},
			{"a request", h.requests, func(s *scene) { s.turn.Requested = true }},
			{"a retry", h.retries, func(s *scene) { s.turn.Retry = true }},
		} {
			s := calm()
			h.set(&s)
			c.set(&s)
			if held := s.reason() == h.brake; held != c.holds {
				t.Errorf("%s, with %s: held %v, want %v", h.brake, c.name, held, c.holds)
			}
		}
	}
}

func TestWindows(t *testing.T) {
	window := func(text string) []control.Window {
		windows, err := control.ParseWindows(text)
		if err != nil {
			t.Fatal(err)
		}
		return windows
	}
	open, night, evening := window("CRON_TZ=UTC 0 11 * * * 2h"), window("CRON_TZ=UTC 0 22 * * * 2h"), window("CRON_TZ=UTC 0 18 * * * 2h")
	for name, c := range map[string]struct {
		limits, asks []control.Window
		control      control.Control
		want         time.Duration // until when; 0 if it goes
	}{
		"none":                            {},
		"open":                            {limits: open},
		"closed":                          {limits: night, want: 10 * time.Hour},
		"the workload's own, closed":      {limits: open, asks: evening, want: 6 * time.Hour},
		"the workload's own does not add": {limits: night, asks: open, want: 10 * time.Hour},
		"reroll-control in place":         {limits: night, control: parse(`windows: ["CRON_TZ=UTC 0 11 * * * 2h"]`)},
		"reroll-control, and its own":     {asks: evening, control: parse(`windows: ["CRON_TZ=UTC 0 11 * * * 2h"]`), want: 6 * time.Hour},
	} {
		hold := turn.Decide(turn.Turn{Peer: turn.Peer{Workload: web}, Limits: turn.Limits{Windows: c.limits}, Chosen: dialect.Chosen{Maintenance: c.asks}}, turn.Peers{}, c.control, noon)
		if c.want == 0 != (hold == nil) || hold != nil && !hold.Due.Equal(noon.Add(c.want)) {
			t.Errorf("%s: held by %+v, want until %s", name, hold, c.want)
		}
	}
	hold := turn.Decide(turn.Turn{Peer: turn.Peer{Workload: web}, Limits: turn.Limits{Windows: []control.Window{control.Never()}}}, turn.Peers{}, control.Control{}, noon)
	if hold == nil || !hold.Due.IsZero() {
		t.Errorf("a window that never opens: held by %+v", hold)
	}
}

func TestAgain(t *testing.T) {
	for name, c := range map[string]struct{ due, want time.Time }{
		"unknown":   {time.Time{}, after(60)},
		"soon":      {after(5), after(5)},
		"far away":  {after(3600), after(60)},
		"over":      {after(-5), noon.Add(time.Millisecond)},
		"right now": {noon, noon.Add(time.Millisecond)},
	} {
		if got := turn.Again(reloader.Hold{Due: c.due}, noon); !got.Equal(c.want) {
			t.Errorf("%s: again at %s, want %s", name, got.Sub(noon), c.want.Sub(noon))
		}
	}
}
