package notify

import (
	"slices"
	"testing"
)

func TestSinkBodies(t *testing.T) {
	for _, s := range sinks {
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
	accepts := map[string][]int{"slack": {200, 202, 299}, "teams": {200}, "gchat": {200}, "raw": {200, 202, 299}}
	for _, s := range sinks {
		for _, status := range []int{199, 200, 202, 299, 302, 400, 500} {
			if got, want := s.accepts(status), slices.Contains(accepts[s.name], status); got != want {
				t.Errorf("%s takes %d as success: %t, want %t", s.name, status, got, want)
			}
		}
	}
}
