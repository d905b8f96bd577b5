package dispatcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestRecordsMakeWay: while a slow workload is being patched, the record of one that is done waits, but neither for long nor beyond the end of
// the process.
func TestRecordsMakeWay(t *testing.T) {
	tests := map[string]struct {
		patch, look time.Duration
		ends        bool
		want        int
	}{
		"while patches are under way":        {patch: time.Second, look: 700 * time.Millisecond, want: 0},
		"until none is":                      {patch: time.Second, look: 1300 * time.Millisecond, want: 1},
		"not for longer than a moment":       {patch: time.Minute, look: 2300 * time.Millisecond, want: 1},
		"not beyond the end of the process":  {patch: 1050 * time.Millisecond, look: 300 * time.Millisecond, ends: true, want: 1},
		"and a patch that is quick is known": {look: 300 * time.Millisecond, want: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				w.deploy("slow", auto, "app")
				w.give("other", "1")
				w.start()
				w.pass(quiet)
				w.failing(func(verb, ref string) error {
					if verb != "patch" {
						return nil
					}
					<-time.After(time.Millisecond) // until the patches of both workloads are under way
					if strings.HasSuffix(ref, "/slow") {
						<-time.After(test.patch)
					}
					return nil
				})
				w.edit(alice, app, "2")
				w.pass(test.look)
				w.rolled(web, 1)
				if test.ends {
					w.deploy("new", auto, "other")
					w.pass(300 * time.Millisecond)
					w.stop()
					ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: scenario.DefaultNamespace, Name: "new"}
					if _, ok := w.store.recordOf(ref); !ok {
						t.Error("the baseline of a workload that came meanwhile is not on record")
					}
				}
				if got := len(w.store.reloadsOf(webRef)); got != test.want {
					t.Errorf("%d reloads are on record %s after the change, want %d", got, test.look, test.want)
				}
				w.pass(quiet)
			})
		})
	}
}
