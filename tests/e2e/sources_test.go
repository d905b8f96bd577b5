package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// deafRoom returns a room on a line of its own, whose API server sends no audit event.
func deafRoom(t *testing.T, flags ...string) *room {
	t.Helper()
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{Level: auditv1.LevelNone}},
		Flags: append([]string{"--coalesce-window", "0s"}, flags...),
	})
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	r := &room{t: t, ctx: ctx, line: l, client: l.Kube.Client(), ns: l.Kube.Namespace(t)}
	r.create(configMap("app", map[string]string{"k": "a"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)
	return r
}

// TestSweepWithoutAudit: what no event told of is found by the sweep of the next start.
func TestSweepWithoutAudit(t *testing.T) {
	r := deafRoom(t, "--sweep-interval", "0")
	r.setData("app", "k", "b")
	r.must(r.line.Reroll.Terminate(r.ctx))
	r.restart()
	r.waitRolls("web", 1)
}

// TestPeriodicSweep: and by the sweep that goes on meanwhile.
func TestPeriodicSweep(t *testing.T) {
	r := deafRoom(t, "--sweep-interval", "2s")
	for i, value := range []string{"b", "c"} {
		r.setData("app", "k", value)
		r.waitRolls("web", int64(i+1))
	}
}

// TestWatchSource: where there is no audit feed, a watch tells of changes, and a change of a label rolls nothing.
func TestWatchSource(t *testing.T) {
	r := deafRoom(t, "--sweep-interval", "0", "--watch-configs")
	r.must(r.line.Reroll.WaitReady(r.ctx))
	for i, value := range []string{"b", "c"} {
		begun := time.Now()
		r.setData("app", "k", value)
		r.waitRolls("web", int64(i+1))
		t.Logf("rolled %s after the edit", time.Since(begun).Round(time.Millisecond))
	}
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		if err == nil && (len(reloads) != 2 || reloads[0].Causes[0].Source != "watch") {
			err = fmt.Errorf("reloads %+v, want two from the watch", reloads)
		}
		return err
	}))
}
