package app

import (
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// TestIgnoredKindsReachEveryDialect: what may not be read need not be there for any tool's annotation.
func TestIgnoredKindsReachEveryDialect(t *testing.T) {
	s := Settings{Stakater: Stakater{IgnoredConfigs: []reloader.ConfigKind{reloader.Secret}}}
	for _, d := range s.dialects() {
		about := map[reloader.ConfigKind]bool{}
		for _, c := range d.Clauses {
			for _, kind := range c.Kinds {
				about[kind] = true
			}
			if c.Kinds == nil {
				t.Errorf("%s: %s is about all kinds", d.Name, c.Key)
			}
		}
		if about[reloader.Secret] || !about[reloader.ConfigMap] {
			t.Errorf("%s is about %v", d.Name, about)
		}
	}
}
