package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// TestBehind: what was handled counts by its version, and so does what was deleted.
func TestBehind(t *testing.T) {
	ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "a", Name: "web"}
	there := census{namespace: "a", versions: map[reloader.WorkloadRef]string{ref: "9"}, lists: map[string]string{"Deployment": "12"}}
	gone := census{namespace: "a", lists: map[string]string{"Deployment": "12"}}
	cases := map[string]struct {
		reason string
		known  string
		now    census
		want   []reloader.WorkloadRef
	}{
		"not known":     {"its creation was not handed on", "", there, []reloader.WorkloadRef{ref}},
		"older":         {"its change was not", "8", there, []reloader.WorkloadRef{ref}},
		"as it was":     {"numbers are compared, not texts", "9", there, nil},
		"newer":         {"it has changed since the list", "10", there, nil},
		"gone":          {"its end was not handed on", "9", gone, []reloader.WorkloadRef{ref}},
		"made since":    {"it is newer than the list", "13", gone, nil},
		"not listed":    {"nothing is known of kinds that the API server does not serve", "9", census{namespace: "a"}, nil},
		"another place": {"other namespaces do not count", "9", census{namespace: "b", lists: gone.lists}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := &watcher{handled: map[reloader.WorkloadRef]string{}}
			if tc.known != "" {
				w.handled[ref] = tc.known
			}
			if diff := cmp.Diff(tc.want, w.behind(tc.now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
