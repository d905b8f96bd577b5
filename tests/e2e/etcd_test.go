//go:build nightly

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestEtcdRestored restores etcd under a process that runs. It ends, since the API server tells it nothing of what went back, and for the
// next one that is what counts: also which configs a workload uses.
func TestEtcdRestored(t *testing.T) {
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", window.String(), "--canary-interval", "1s"},
	})
	r := newRoom(t, l)
	r.create(configMap("app", map[string]string{"k": "0"}))
	r.create(configMap("other", map[string]string{"k": "0"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)
	r.setData("app", "k", "1")
	r.expectRolls("web", 1)
	backup, err := l.Kube.BackUpEtcd(r.ctx)
	r.must(err)
	r.must(l.Reroll.WaitReady(r.ctx))

	r.setData("app", "k", "2")
	r.expectRolls("web", 2)
	_, err = r.client.AppsV1().Deployments(r.ns).Patch(r.ctx, "web", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/envFrom/0/configMapRef/name","value":"other"}]`), metav1.PatchOptions{})
	r.must(err)
	r.waitUses("web", "other") // its watch may take a while to begin anew
	r.setData("other", "k", "1")
	r.expectRolls("web", 4)

	r.must(l.Kube.RestoreEtcd(r.ctx, backup))
	code, err := l.Reroll.WaitEnd(r.ctx)
	r.must(err)
	if log := l.Reroll.Log(); code != 1 || !strings.Contains(log, "the API server went back to an earlier state") {
		t.Errorf("it ended with code %d:\n%s", code, tail(log))
	}
	r.restart()
	if got := r.rolls("web"); got != 1 {
		t.Fatalf("etcd was restored, and the template has changed %d times, not once", got)
	}
	r.waitUses("web", "app")
	r.expectRolls("web", 1)
	r.setData("other", "k", "2")
	r.expectRolls("web", 1)
	r.setData("app", "k", "3")
	r.expectRolls("web", 2)
	r.setData("app", "k", "4")
	r.expectRolls("web", 3)
}

// waitUses waits until Reroll knows that a Deployment uses one ConfigMap and no other.
func (r *room) waitUses(name, config string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		var w struct {
			Dependencies []struct{ Config struct{ Name string } }
		}
		err := r.line.Reroll.Get(ctx, "/api/v1/workloads/"+line.ClusterName+"/"+r.ns+"/Deployment/"+name, &w)
		if err == nil && (len(w.Dependencies) != 1 || w.Dependencies[0].Config.Name != config) {
			err = fmt.Errorf("%s uses %+v, not %s", name, w.Dependencies, config)
		}
		return err
	}))
}
