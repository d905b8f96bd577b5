//go:build nightly

package providerclass

import (
	"context"
	"fmt"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// deafRoom returns a room on a line whose API server sends no audit event, and which never sweeps after its start.
func deafRoom(t *testing.T, flags ...string) *room {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{ExtraRules: []auditv1.PolicyRule{{Level: auditv1.LevelNone}}}},
		Flags: append([]string{"--enable-csi-integration", "--sweep-interval", "0", "--coalesce-window", "0s"}, flags...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	return newRoomOn(t, l)
}

// rolled waits until a Deployment has rolled n times.
func (r *room) rolled(name string, n int64) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(context.Context) error {
		if got := r.get(name).Generation - 1; got != n {
			return fmt.Errorf("%s rolled %d times, not %d", name, got, n)
		}
		return nil
	}))
}

// baseline waits until Reroll knows with which content a Deployment runs.
func (r *room) baseline(name string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		if n, err := r.line.Reroll.Baselines(ctx, r.ns, name); err != nil || n == 0 {
			return fmt.Errorf("%s has no baseline: %v", name, err)
		}
		return nil
	}))
}

// TestWatchSeesRotations: a watch is all that clusters have whose audit feed cannot be set. Nothing else reports a rotation here.
func TestWatchSeesRotations(t *testing.T) {
	t.Parallel()
	r := deafRoom(t, "--source=auto")
	r.must(r.line.Reroll.WaitReady(r.ctx)) // although the driver is not installed
	r.must(installDriver(r.ctx, r.line))
	r.class("vault", nil)
	r.mount("web-0", "vault", "v1")
	r.deploy("web", "vault", auto)
	r.baseline("web")
	r.rotate("web-0", "vault", "v2")
	r.rolled("web", 1)
	r.rotate("web-0", "vault", "v3")
	r.rolled("web", 2)
	r.must(line.Poll(r.ctx, func(ctx context.Context) error { // the record follows the patch
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		if err == nil && len(reloads) < 2 {
			err = fmt.Errorf("%d reloads are on record, not 2", len(reloads))
		}
		for _, reload := range reloads {
			if source := reload.Causes[0].Source; source != "watch" {
				err = line.Stop(fmt.Errorf("a reload was caused by %q, want the watch", source))
			}
		}
		return err
	}))
}
