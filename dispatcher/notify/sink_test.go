package notify

import (
	"testing"
)

func TestSinkBodies(t *testing.T) {
	for _, s := range []sink{slack, teams, gchat, raw} {
		t.Run(s.name, func(t *testing.T) {
			golden(t, "alert-"+s.name+".txt", s.encode("blue <1> : "+aboutPrices).body)
		})
	}
}

func TestSinkNames(t *testing.T) {
	cases := map[string]string{
		"slack": "slack", " Teams\n": "teams", "GCHAT": "gchat", "raw": "raw", "": "raw", "pagerduty": "raw",
	}
	for name, want := range cases {
		if got := sinkNamed(name); got.name != want {
			t.Errorf("sink %q is %s, want %s", name, got.name, want)
		}
	}
}

func TestSinkStatuses(t *testing.T) {
	cases := []struct {
		sinks    []sink
		status   int
		accepted bool
	}{
		{[]sink{slack, teams, gchat, raw}, 200, true},
		{[]sink{slack, raw}, 202, true},
		{[]sink{teams, gchat}, 202, false},
		{[]sink{slack, teams, gchat, raw}, 199, false},
		{[]sink{slack, teams, gchat, raw}, 302, false},
		{[]sink{slack, teams, gchat, raw}, 400, false},
		{[]sink{slack, teams, gchat, raw}, 500, false},
	}
	for _, tc := range cases {
		for _, s := range tc.sinks {
			if got := s.accepts(tc.status); got != tc.accepted {
				t.Errorf("%s takes %d as success: %t, want %t", s.name, tc.status, got, tc.accepted)
			}
		}
	}
}
