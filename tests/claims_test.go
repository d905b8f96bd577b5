package tests

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader"
)

// TestDocumentsAgreeWithCode holds sentences of documents against what they are about.
func TestDocumentsAgreeWithCode(t *testing.T) {
	var none []string
	for _, d := range distribution.All {
		if _, err := d.KubeconfigHeader(); err != nil {
			none = append(none, d.Title)
		}
	}
	slices.Sort(none)
	var sources []string
	for _, s := range []reloader.Source{reloader.SourceAudit, reloader.SourceAuditLog, reloader.SourceWatch, reloader.SourceSweep, reloader.SourceBaseline} {
		sources = append(sources, "`"+string(s)+"`")
	}
	claims := []struct{ file, claim string }{
		{"README.md", fmt.Sprintf("knows [%d kinds of clusters]", len(distribution.All))},
		{"README.md", strings.Join(none[:len(none)-1], ", ") + " and " + none[len(none)-1] + " let you set no audit webhook"},
	}
	for _, s := range sources {
		claims = append(claims, struct{ file, claim string }{"docs/concepts.md", s})
	}
	for _, c := range claims {
		text, err := os.ReadFile("../" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), c.claim) {
			t.Errorf("%s does not say %q", c.file, c.claim)
		}
	}
}

// falseClaims are sentences that documents had and that were not true.
var falseClaims = map[string]string{
	"does not watch your Secrets":            "--source=auto, the default, does",
	"Each reload is also a Kubernetes Event": "many outcomes are not: docs/reference/events.md has the table",
	"!= 1` for more than":                    "helm/reroll/files/alerts.yaml says after how long the alert fires",
}

// TestFalseClaimsStayAway: what was found to be wrong in documents does not come back.
func TestFalseClaimsStayAway(t *testing.T) {
	for name, text := range documents(t) {
		for claim, reason := range falseClaims {
			if strings.Contains(text, claim) {
				t.Errorf("%s says %q: %s", name, claim, reason)
			}
		}
	}
}
