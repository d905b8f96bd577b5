package app

import (
	"testing"

	"github.com/reroll-dev/reroll/cmd/reroll/flags"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
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

func TestToolSettings(t *testing.T) {
	for name, c := range map[string]struct {
		tools flags.Tools
		ok    bool
	}{
		"none":             {flags.Tools{}, true},
		"all":              {flags.Tools{Collaborne: dialect.CollaborneOptions{ConfigMap: "configmap.reloader.stakater.com/reload", Secret: "x/y", State: "reloader-state"}}, true},
		"no annotation":    {flags.Tools{Collaborne: dialect.CollaborneOptions{ConfigMap: "a b"}}, false},
		"nor one":          {flags.Tools{Collaborne: dialect.CollaborneOptions{Secret: "/x"}}, false},
		"no ConfigMap":     {flags.Tools{Collaborne: dialect.CollaborneOptions{State: "ns/state"}}, false},
		"no name of a map": {flags.Tools{Collaborne: dialect.CollaborneOptions{State: "State"}}, false},
	} {
		if err := c.tools.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestToolsAreHeard: what the flags say reaches the dialects.
func TestToolsAreHeard(t *testing.T) {
	plain := Settings{}.dialects()
	told := Settings{Tools: flags.Tools{SAPVersions: true, Collaborne: dialect.CollaborneOptions{State: "reloader-state"}}}.dialects()
	for name, set := range map[string]dialect.Set{"plain": plain, "told": told} {
		sap, _ := set.Named("sap")
		collaborne, _ := set.Named("collaborne")
		if sap.Versions != (name == "told") || (collaborne.State != nil) != (name == "told") {
			t.Errorf("%s: versions %v, state %v", name, sap.Versions, collaborne.State)
		}
	}
}
