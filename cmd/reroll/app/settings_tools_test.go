package app

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// TestIgnoredKindsReachEveryDialect: what may not be read need not be there for any tool's annotation.
func TestIgnoredKindsReachEveryDialect(t *testing.T) {
	s := Settings{Stakater: Stakater{IgnoredConfigs: []reloader.ConfigKind{reloader.Secret}}}
	for _, d := range s.dialects() {
		if !slices.Contains(d.Without, reloader.Secret) || slices.Contains(d.Without, reloader.ConfigMap) {
			t.Errorf("%s is without %v", d.Name, d.Without)
		}
		for _, c := range d.Clauses {
			if slices.Equal(c.Kinds, []reloader.ConfigKind{reloader.Secret}) && d.Name != "reroll" && d.KeepsAnnotation(c.Key) {
				t.Errorf("%s reads %s", d.Name, c.Key)
			}
		}
	}
}
