package app

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// TestRemovingAsks: what there is is said, and nothing is removed unless the name is typed or nobody wants to be asked.
func TestRemovingAsks(t *testing.T) {
	has := queue.Holdings{UID: "uid-2", Told: 7, Silent: 30 * time.Second, Messages: map[string]uint64{"changes": 12, "reloads": 1}}
	for name, tc := range map[string]struct {
		run        natsRemove
		typed      string
		sure, asks bool
	}{
		"the name":              {natsRemove{}, "c2\n", true, true},
		"the name without line": {natsRemove{}, " c2", true, true},
		"another name":          {natsRemove{}, "c1\n", false, true},
		"nothing":               {natsRemove{}, "", false, true},
		"far too much":          {natsRemove{}, strings.Repeat(" ", 2*maxNameLine) + "c2\n", false, true},
		"nobody is asked":       {natsRemove{yes: true}, "", true, false},
		"a dry run":             {natsRemove{yes: true, dryRun: true}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			tc.run.cluster, tc.run.in, tc.run.out = "c2", strings.NewReader(tc.typed), &out
			if err := tc.run.sure(has); (err == nil) != tc.sure || err != nil && !errors.Is(err, errNotSure) {
				t.Errorf("sure: %v", err)
			}
			want := "the hub has of c2:\n  its name, for the cluster with UID \"uid-2\"\n  its status, of 30s ago\n  12 changes\n  1 reloads\n"
			if said, _, asked := strings.Cut(out.String(), "All of it is removed."); asked != tc.asks || said != want {
				t.Errorf("asked: %t, %s", asked, cmp.Diff(want, said))
			}
		})
	}
}

func TestRemovingSaysThatItWaits(t *testing.T) {
	var out strings.Builder
	r := natsRemove{cluster: "c2", silence: 90 * time.Second, yes: true, out: &out}
	if err := r.sure(queue.Holdings{Told: 7, Silent: 30 * time.Second}); err != nil || !strings.HasSuffix(out.String(), "waiting 1m0s to see whether it is silent\n") {
		t.Errorf("%v: %s", err, out.String())
	}
}
