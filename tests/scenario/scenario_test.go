package scenario_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reroll-dev/reroll/tests/scenario"
)

const good = `
reason: it is good
given: [{kind: ConfigMap, metadata: {name: app}}, {kind: Deployment, metadata: {name: web}}]
steps: [{do: [{delete: ConfigMap/app}], expect: {Deployment/web: 1}}]
`

// TestParse: a slip in a data file is an error, not a scenario that shows nothing.
func TestParse(t *testing.T) {
	tests := map[string]struct{ old, new, want string }{
		"good":                   {"", "", ""},
		"no reason":              {"reason: it is good", "", "reason"},
		"unknown field":          {"reason:", "why:", "why"},
		"unknown kind":           {"kind: ConfigMap", "kind: Pod", "Pod"},
		"no steps":               {"steps: [", "steps: []\nmarks: [", "do"},
		"nothing written":        {"{delete: ConfigMap/app}", "{}", "exactly one"},
		"patch without body":     {"{delete: ConfigMap/app}", "{patch: ConfigMap/app}", "go together"},
		"bad reference":          {"delete: ConfigMap/app", "delete: app", "Kind/name"},
		"negative number":        {"Deployment/web: 1", "Deployment/web: -1", "no such number"},
		"bad duration":           {"given:", "settings: {window: 2h}\ngiven:", "duration"},
		"sight of nothing":       {"expect:", "see: [{has: {}}], expect:", "exactly one of object"},
		"sight of no expression": {"expect:", "see: [{object: Job/a, has: {spec: [{x: '~('}]}}], expect:", "missing closing"},
		"kill of nothing":        {"expect:", "down: true, kill: true, expect:", "cannot be killed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data := good
			if test.old != "" {
				data = strings.Replace(good, test.old, test.new, 1)
			}
			_, err := scenario.Parse(name, []byte(data))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

// TestLoad names the file that is at fault, and does not take an empty folder for success.
func TestLoad(t *testing.T) {
	if _, err := scenario.Load(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is loaded")
	}
	files := fstest.MapFS{"b.yaml": {Data: []byte(good)}, "a.yaml": {Data: []byte(good)}}
	all, err := scenario.Load(files)
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("loaded %v, %v", all, err)
	}
	files["c.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(good, "Deployment/web: 1", "Deployment/web: 0", 1))}
	if _, err := scenario.Load(files); err == nil || !strings.Contains(err.Error(), "c.yaml: no step expects") {
		t.Errorf("error %v does not say that nothing rolls", err)
	}
	files["c.yaml"] = &fstest.MapFile{Data: []byte("reason: x")}
	if _, err := scenario.Load(files); err == nil || !strings.Contains(err.Error(), "c.yaml") {
		t.Errorf("error %v does not name the file", err)
	}
}
