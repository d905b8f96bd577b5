package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestParseShapes: a list of shapes says what is run, for how long, and what must have happened by then.
func TestParseShapes(t *testing.T) {
	type planned struct {
		Roles, HA bool
		Time      time.Duration
		Cuts      int
		Kills     int
	}
	tests := map[string]struct {
		reason, list string
		want         []planned
		wrong        bool
	}{
		"shares": {
			"shapes share the time", "serve,roles,ha",
			[]planned{{Time: time.Minute}, {Roles: true, Time: time.Minute}, {Roles: true, HA: true, Time: time.Minute}},
			false,
		},
		"own times": {
			"a long run of roles has to see enough", "serve:10s,roles:20m",
			[]planned{{Time: 10 * time.Second}, {Roles: true, Time: 20 * time.Minute, Cuts: 2, Kills: 200}},
			false,
		},
		"medium": {
			"there is time for a short cut", "roles:2m", []planned{{Roles: true, Time: 2 * time.Minute, Cuts: 1}}, false,
		},
		"unknown":  {"a word that is no shape", "serves", nil, true},
		"bad time": {"a time without a unit", "roles:20", nil, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			runs, err := parseShapes(options{Time: 3 * time.Minute}, tc.list)
			var got []planned
			for _, o := range runs {
				got = append(got, planned{o.Roles, o.HA, o.Time, len(o.Cuts), o.Least.Kills})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.wrong {
				t.Errorf("%s: error %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}
