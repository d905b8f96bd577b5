package e2e

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// operate runs a subcommand of the real binary against the line's API server, in the namespace of its own configuration.
func (r *room) operate(args ...string) string {
	r.t.Helper()
	binary, err := line.Build(r.ctx)
	r.must(err)
	out, err := exec.CommandContext(r.ctx, binary, append(args, "--reroll-namespace", "default", "--kubeconfig", r.line.Kube.Kubeconfig())...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("reroll %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestFreeze: nothing rolls while an operator has frozen reloads, by our command or by plain kubectl, also after a restart; when it is
// over, everything rolls once.
func TestFreeze(t *testing.T) {
	l := ownLine(t, line.Options{Kube: kube.Options{Audit: &kube.Audit{}}, Flags: []string{"--set", "debounce.window=0s"}})
	r := newRoom(t, l)
	r.create(configMap("app", map[string]string{"k": "a"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)

	if out := r.operate("pause", "-A", "--reason", "incident 7"); !strings.HasPrefix(out, "paused all workloads everywhere until resumed (ConfigMap ") {
		t.Errorf("pause says %q", out)
	}
	r.setData("app", "k", "b")
	r.waitHold("web", "Frozen", "incident 7")
	r.must(l.Reroll.Terminate(r.ctx))
	r.restart()
	r.waitHold("web", "Frozen", "incident 7")
	if got := r.rolls("web"); got != 0 {
		t.Errorf("rolled %d times although frozen", got)
	}
	r.setData("app", "k", "c")
	r.operate("resume", "-A")
	r.waitRolls("web", 1)

	t.Log("plain kubectl freezes, too")
	where := l.Kube.Client().CoreV1().ConfigMaps("default")
	_, err := where.Patch(r.ctx, "reroll-control", types.MergePatchType, []byte(`{"data":{"control.yaml":"freeze: {}"}}`), metav1.PatchOptions{})
	r.must(err)
	r.waitFrozen()
	r.setData("app", "k", "d")
	r.waitHold("web", "Frozen", "")
	r.must(where.Delete(r.ctx, "reroll-control", metav1.DeleteOptions{}))
	r.waitRolls("web", 2)
}

// waitHold waits until the API says why a workload is held back.
func (r *room) waitHold(name, reason, message string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		hold, err := r.line.Reroll.Hold(ctx, r.ns, name)
		if err == nil && (hold.Reason != reason || hold.Message != message) {
			err = errHold(hold)
		}
		return err
	}))
}

type errHold line.Hold

func (h errHold) Error() string { return "held back for " + h.Reason + ": " + h.Message }

// waitFrozen waits until reroll knows that it is frozen.
func (r *room) waitFrozen() {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(context.Context) error {
		if log := r.line.Reroll.Log(); strings.LastIndex(log, "frozen=true") < strings.LastIndex(log, "frozen=false") {
			return errHold{Reason: "nothing yet"}
		}
		return nil
	}))
}
