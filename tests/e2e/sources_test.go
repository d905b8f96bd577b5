//go:build nightly

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// deafRoom returns a room on a line of its own, whose API server sends no audit event.
func deafRoom(t *testing.T, flags ...string) *room {
	t.Helper()
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{Level: auditv1.LevelNone}},
		Flags: append([]string{"--set", "debounce.window=0s"}, flags...),
	})
	r := newRoom(t, l)
	r.create(configMap("app", map[string]string{"k": "a"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)
	return r
}

// TestSweepWithoutAudit: the sweep of the next start finds what no event reported, and the one after that does not roll it again.
func TestSweepWithoutAudit(t *testing.T) {
	r := deafRoom(t, "--set", "resyncInterval=0")
	for i, changed := range []string{"app", "sentinel", "sentinel"} {
		r.setData(changed, "k", fmt.Sprint("after ", i))
		r.must(r.line.Reroll.Terminate(r.ctx))
		r.restart()
		r.waitRolls("web", 1)
		r.waitRolls("sentinel", int64(i))
	}
	if got := r.rolls("web"); got != 1 {
		t.Errorf("web rolled %d times, not once", got)
	}
}

// TestPeriodicSweep: and by the sweep that continues meanwhile.
func TestPeriodicSweep(t *testing.T) {
	r := deafRoom(t, "--set", "resyncInterval=2s")
	for i, value := range []string{"b", "c"} {
		r.setData("app", "k", value)
		r.expectRolls("web", int64(i+1))
	}
}

// TestWatchSource: where there is no audit feed, a watch tells of changes, and a change of a label rolls nothing.
func TestWatchSource(t *testing.T) {
	r := deafRoom(t, "--set", "resyncInterval=0", "--source", "auto")
	for i, value := range []string{"b", "c"} {
		begun := time.Now()
		r.setData("app", "k", value)
		r.waitRolls("web", int64(i+1))
		t.Logf("rolled %s after the edit", time.Since(begun).Round(time.Millisecond))
	}
	_, err := r.client.CoreV1().ConfigMaps(r.ns).Patch(r.ctx, "app", types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"a"}}}`), metav1.PatchOptions{})
	r.must(err)
	r.expectRolls("web", 2)
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		reloads = slices.DeleteFunc(reloads, func(reload line.Reload) bool { return reload.Workload.Name != "web" })
		if err == nil && (len(reloads) != 2 || reloads[0].Causes[0].Source != "watch") {
			err = fmt.Errorf("reloads %+v, want two from the watch", reloads)
		}
		return err
	}))
}
