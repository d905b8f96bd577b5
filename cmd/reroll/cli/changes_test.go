package cli

import (
	"testing"

	"github.com/reroll-dev/reroll/api/view"
)

// TestWhoOf: one name is asserted only where nobody else can have been it.
func TestWhoOf(t *testing.T) {
	for name, c := range map[string]struct {
		candidates []view.Candidate
		want       string
	}{
		"nobody":            {nil, "-"},
		"one":               {[]view.Candidate{{User: "alice", Basis: "OnlyWriter"}}, "alice"},
		"seen by a watch":   {[]view.Candidate{{FieldManager: "kubectl-edit", Basis: "OnlyWriter"}}, "field manager kubectl-edit"},
		"one who need not":  {[]view.Candidate{{User: "alice", Basis: "Ambiguous"}}, "perhaps alice"},
		"one of two writes": {[]view.Candidate{{User: "alice", Basis: "Ambiguous"}, {User: "bob", Basis: "FieldManager"}}, "one of alice, bob"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := whoOf(c.candidates); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
