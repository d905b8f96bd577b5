package gitops

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// fenced is a snippet of YAML.
var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// documented is one rule of docs/recipes.md, and the strategies whose marks it keeps.
type documented struct {
	name       string
	strategies []string
	rule       ignoreRule
}

// readRules returns the rules of docs/recipes.md.
func readRules(t *testing.T) (rules []documented) {
	t.Helper()
	text, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, snippet := range fenced.FindAllSubmatch(text, -1) {
		if !bytes.Contains(snippet[1], []byte("ignoreDifferences:")) {
			continue
		}
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
