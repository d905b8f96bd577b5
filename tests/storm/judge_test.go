package main

import (
	"strings"
	"testing"
	"time"
)

// TestTooFast: the judge lets through what the limit does, and nothing more.
func TestTooFast(t *testing.T) {
	const perMinute = 600
	// seen returns when rolls were seen that came so many at once, and then so many a second.
	seen := func(atOnce, perSecond, seconds int) []time.Time {
		start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		var at []time.Time
		for range atOnce {
			at = append(at, start)
		}
		for i := range perSecond * seconds {
			at = append(at, start.Add(time.Duration(i+1)*time.Second/time.Duration(perSecond)))
		}
		return at
	}
	cases := map[string]struct {
		at     []time.Time
		fast   bool
		reason string
	}{
		"none":              {nil, false, "nothing is too fast"},
		"at the limit":      {seen(60, 10, 60), false, "that is what is allowed"},
		"told late":         {seen(60+30, 10, 10), false, "the API server may tell of three seconds at once"},
		"all at once":       {seen(200, 10, 1), true, "a tenth of a minute's is the most"},
		"a little too fast": {seen(60, 12, 60), true, "it adds up"},
		"late burst":        {append(seen(0, 1, 20), seen(150, 1, 1)...), true, "nothing is saved up"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tooFast(c.at, perMinute); (got != "") != c.fast {
				t.Errorf("judged %q: %s", got, c.reason)
			}
		})
	}
}

// TestFaults: each fault is found, and a good storm has none.
func TestFaults(t *testing.T) {
	o := options{Workloads: 4, Bystanders: 1}
	good := map[string]int64{"web-0": 1, "web-1": 1, "web-2": 1, "web-3": 1}
	waiting := []sample{{pending: 3}, {struck: true, pending: 4, held: 4}, {struck: true, pending: 2, held: 2}, {struck: true}}
	cases := map[string]struct {
		faults []string
		want   string
	}{
		"once each":      {append(o.notOnce(good), o.moved(good)...), ""},
		"never":          {o.notOnce(map[string]int64{"web-0": 1, "web-1": 1, "web-2": 1}), "web-3 rolled 0 times"},
		"twice":          {o.notOnce(map[string]int64{"web-0": 2, "web-1": 1, "web-2": 1, "web-3": 1}), "web-0 rolled 2 times"},
		"bystander":      {o.moved(map[string]int64{"bystander-0": 1}), "bystander-0 rolled 1 times"},
		"seen to wait":   {o.hidden(waiting), ""},
		"more and more":  {o.hidden([]sample{{struck: true, pending: 2, held: 2}, {struck: true, pending: 4, held: 4}, {struck: true}}), "more than the 2 before"},
		"never held":     {o.hidden([]sample{{struck: true, pending: 4}, {struck: true}}), "no more than 0 workloads"},
		"never counted":  {o.hidden([]sample{{pending: 4, held: 4}, {}}), "never counted"},
		"never finished": {o.hidden(waiting[:3]), "2 wait in the end"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(c.faults, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("faults %q, want %q", got, c.want)
			}
		})
	}
}
