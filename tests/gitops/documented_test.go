package gitops

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// fenced is a snippet of YAML.
var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// documented is one rule of docs/gitops.md, and the strategies whose marks it keeps.
type documented struct {
	name       string
	strategies []string
	rule       ignoreRule
}

// readRules returns the rules of docs/gitops.md.
func readRules(t *testing.T) (rules []documented) {
	t.Helper()
	text, err := os.ReadFile("../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, snippet := range fenced.FindAllSubmatch(text, -1) {
		var application struct {
			Spec struct {
				IgnoreDifferences []ignoreRule `json:"ignoreDifferences"`
				SyncPolicy        struct {
					SyncOptions []string `json:"syncOptions"`
				} `json:"syncPolicy"`
			} `json:"spec"`
		}
		if err := yaml.UnmarshalStrict(snippet[1], &application); err != nil {
			t.Fatalf("%v: %s", err, snippet[1])
		}
		if !strings.Contains(strings.Join(application.Spec.SyncPolicy.SyncOptions, ","), "RespectIgnoreDifferences=true") {
			t.Errorf("a sync would not heed it:\n%s", snippet[1])
		}
		for _, rule := range application.Spec.IgnoreDifferences {
			if len(rule.ManagedFieldsManagers) > 0 {
				rules = append(rules, documented{"managers", merged, rule})
			} else {
				rules = append(rules, documented{"pointers", []string{"annotations"}, rule})
			}
		}
	}
	if len(rules) != 2 {
		t.Fatalf("there are %d rules, want one of managers and one of pointers", len(rules))
	}
	return rules
}
