package view

import (
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// TestSayWho: one name is asserted only where nobody else can have been it.
func TestSayWho(t *testing.T) {
	who := func(user string, basis reloader.Basis) reloader.Candidate {
		return reloader.Candidate{Actor: reloader.Actor{User: user}, Basis: basis}
	}
	for name, c := range map[string]struct {
		candidates []reloader.Candidate
		want       string
	}{
		"nobody": {nil, ""},
		"one":    {[]reloader.Candidate{who("alice", reloader.BasisOnlyWriter)}, " by alice"},
		"impersonated": {
			[]reloader.Candidate{{Actor: reloader.Actor{User: "alice", AuthenticatedUser: "admin"}, Basis: reloader.BasisOnlyWriter}}, " by alice (impersonated by admin)",
		},
		"seen by a watch": {
			[]reloader.Candidate{{Actor: reloader.Actor{FieldManager: "kubectl-edit"}, Basis: reloader.BasisOnlyWriter}}, " by field manager kubectl-edit",
		},
		"nothing known":    {[]reloader.Candidate{who("", reloader.BasisOnlyWriter)}, ""},
		"one who need not": {[]reloader.Candidate{who("alice", reloader.BasisAmbiguous)}, ", perhaps by alice"},
		"two": {
			[]reloader.Candidate{who("alice", reloader.BasisAmbiguous), who("bob", reloader.BasisFieldManager)}, " by one of 2 who wrote it at that time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sayWho(c.candidates); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
