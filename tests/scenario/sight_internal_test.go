package scenario

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSight: a sight is a part of what is there, and says what is missing.
func TestSight(t *testing.T) {
	const there = `[{kind: Job, spec: {paused: true, size: 2, list: [{name: a}, {name: b, value: xyz}]}}]`
	for name, test := range map[string]struct{ sight, there, want string }{
		"a part":                   {`{object: Job/x, has: {spec: {paused: true}}}`, there, ""},
		"another value":            {`{object: Job/x, has: {spec: {size: 3}}}`, there, "/spec/size is not 3"},
		"absent":                   {`{object: Job/x, has: {spec: {other: null}}}`, there, ""},
		"not absent":               {`{object: Job/x, has: {spec: {size: null}}}`, there, "/spec/size is there"},
		"not anything":             {`{object: Job/x, has: {spec: {other: "*"}}}`, there, "/spec/other is not *"},
		"not an expression":        {`{object: Job/x, has: {kind: ~^C}}`, there, "/kind is not ~^C"},
		"an item of a list":        {`{object: Job/x, has: {spec: {list: [{value: ~y}]}}}`, there, ""},
		"one of several":           {`{events: Job/x, has: {kind: A}}`, `[{kind: B}, {kind: A}]`, ""},
		"one of several Jobs":      {`{jobs: CronJob/x, has: {kind: A}}`, `[{kind: B}, {kind: A}]`, "/kind is not A"},
		"none":                     {`{events: Job/x, has: {kind: A}, none: true}`, `[{kind: B}]`, ""},
		"one where none should be": {`{events: Job/x, has: {kind: B}, none: true}`, `[{kind: B}]`, "something is there"},
	} {
		t.Run(name, func(t *testing.T) {
			var s Sight
			var found []map[string]any
			if err := yaml.UnmarshalStrict([]byte(test.sight), &s); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(test.there), &found); err != nil {
				t.Fatal(err)
			}
			got := s.problem(found)
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("problem %q, want %q", got, test.want)
			}
		})
	}
}
