package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
)

// verbs are the ways in which a ConfigMap named app with the data {k: a}, used by the Deployment web, can be written.
var verbs = map[string]struct {
	reason string
	do     func(*room)
	rolls  int64
}{
	"update": {
		"a PUT with other data", func(r *room) { r.setData("app", "k", "b") }, 1,
	},
	"update without effect": {
		"the API server reports a no-op like a real write", func(r *room) { r.setData("app", "k", "a") }, 0,
	},
	"json patch": {
		"the first of four kinds of patch", patching(types.JSONPatchType, `[{"op":"replace","path":"/data/k","value":"b"}]`), 1,
	},
	"merge patch": {
		"the second", patching(types.MergePatchType, `{"data":{"k":"b"}}`), 1,
	},
	"strategic merge patch": {
		"the third, as kubectl edit sends it", patching(types.StrategicMergePatchType, `{"data":{"k":"b"}}`), 1,
	},
	"server-side apply": {
		"the fourth", patching(types.ApplyPatchType, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {k: b}"), 1,
	},
	"label": {
		"metadata is no content", patching(types.MergePatchType, `{"metadata":{"labels":{"team":"x"}}}`), 0,
	},
	"annotation": {
		"metadata is no content", patching(types.MergePatchType, `{"metadata":{"annotations":{"note":"x"}}}`), 0,
	},
	"binaryData": {
		"binary content counts, too", patching(types.MergePatchType, `{"binaryData":{"b":"AAEC"}}`), 1,
	},
	"dry run": {
		"nothing is stored", func(r *room) {
			_, err := r.client.CoreV1().ConfigMaps(r.ns).Patch(r.ctx, "app", types.MergePatchType, []byte(`{"data":{"k":"b"}}`),
				metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			r.must(err)
		}, 0,
	},
	"conflict": {
		"a 409 stores nothing", func(r *room) {
			stale := configMap("app", map[string]string{"k": "b"})
			stale.ResourceVersion = "1"
			if _, err := r.client.CoreV1().ConfigMaps(r.ns).Update(r.ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				r.t.Fatalf("update of an old version: %v", err)
			}
		}, 0,
	},
	"delete": {
		"absence is no change", func(r *room) { r.delete("app") }, 0,
	},
	"delete and recreate": {
		"as immutable configs are changed", func(r *room) {
			r.delete("app")
			r.create(configMap("app", map[string]string{"k": "b"}))
		}, 1,
	},
	"delete and recreate alike": {
		"the content is what the pods have", func(r *room) {
			r.delete("app")
			r.create(configMap("app", map[string]string{"k": "a"}))
		}, 0,
	},
	"deletecollection": {
		"the event names no object, and absence is no change", func(r *room) {
			r.must(r.client.CoreV1().ConfigMaps(r.ns).DeleteCollection(r.ctx, metav1.DeleteOptions{},
				metav1.ListOptions{FieldSelector: "metadata.name=app"}))
		}, 0,
	},
	"deletecollection and recreate": {
		"the event names no object", func(r *room) {
			r.must(r.client.CoreV1().ConfigMaps(r.ns).DeleteCollection(r.ctx, metav1.DeleteOptions{},
				metav1.ListOptions{FieldSelector: "metadata.name=app"}))
			r.create(configMap("app", map[string]string{"k": "b"}))
		}, 1,
	},
	"generateName": {
		"the event names no object, and nobody uses it", func(r *room) {
			cm := configMap("", map[string]string{"k": "b"})
			cm.GenerateName = "app-"
			r.create(cm)
		}, 0,
	},
	"kubectl edit": {
		"as people do it", func(r *room) {
			editor := filepath.Join(r.t.TempDir(), "editor")
			r.must(os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/k: a/k: b/' \"$1\"\n"), 0o700))
			cmd := r.line.Kube.Command(r.ctx, "edit", "configmap", "app", "--namespace="+r.ns)
			cmd.Env = append(cmd.Env, "KUBE_EDITOR="+editor)
			output, err := cmd.CombinedOutput()
			r.must(withOutput(err, output))
		}, 1,
	},
	"kubectl apply": {
		"as pipelines do it", kubectl("apply"), 1,
	},
	"kubectl apply --server-side": {
		"as newer pipelines do it", kubectl("apply", "--server-side", "--force-conflicts"), 1,
	},
	"kubectl replace": {
		"as people do it who keep the whole manifest", kubectl("replace"), 1,
	},
}

func (r *room) delete(name string) {
	r.t.Helper()
	r.must(r.client.CoreV1().ConfigMaps(r.ns).Delete(r.ctx, name, metav1.DeleteOptions{}))
}

func patching(kind types.PatchType, body string) func(*room) {
	return func(r *room) {
		force := true
		options := metav1.PatchOptions{FieldManager: "e2e"}
		if kind == types.ApplyPatchType {
			options.Force = &force
		}
		_, err := r.client.CoreV1().ConfigMaps(r.ns).Patch(r.ctx, "app", kind, []byte(body), options)
		r.must(err)
	}
}

func kubectl(args ...string) func(*room) {
	return func(r *room) {
		cmd := r.line.Kube.Command(r.ctx, append(args, "--namespace="+r.ns, "-f", "-")...)
		cmd.Stdin = strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {k: b}\n")
		output, err := cmd.CombinedOutput()
		r.must(withOutput(err, output))
	}
}

func withOutput(err error, output []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, output)
}

func TestVerbs(t *testing.T) {
	for name, test := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, shared)
			r.create(configMap("app", map[string]string{"k": "a"}))
			r.create(deployment("web", usesEnvFrom("app")))
			r.waitBaseline("web", 1)
			seen := func() {}
			if witness := witnesses[name]; witness != nil {
				seen = witness(r)
			}
			test.do(r)
			seen()
			r.waitRolls("web", test.rolls)
			r.quiesce()
			if got := r.rolls("web"); got != test.rolls {
				t.Errorf("%d rolls, want %d: %s", got, test.rolls, test.reason)
			}
			if test.rolls > 0 {
				if reload := r.reloadOf("web"); reload.Outcome != "Reloaded" || !explained(reload) {
					t.Errorf("the reload on record does not say who made it by which request: %+v", reload)
				}
				return
			}
			for _, c := range r.changesOf("app") {
				if c.Type != "Baseline" && c.Type != "Deleted" && !isFirst(c) && c.Old.Sum != c.New.Sum {
					t.Errorf("a change is on record that nobody has made: %+v", c)
				}
			}
		})
	}
}

// isFirst reports whether c is what a config was created with. It is on record as that, and not as a baseline, if the event of its creation comes before
// the first look because of a dependent.
func isFirst(c line.Change) bool { return c.Type == "Created" && c.Old.Sum == "" }

// changesOf returns the changes of a ConfigMap that the REST API lists, the newest first.
func (r *room) changesOf(name string) []line.Change {
	r.t.Helper()
	changes, err := r.line.Reroll.Changes(r.ctx, r.ns)
	r.must(err)
	return slices.DeleteFunc(changes, func(c line.Change) bool { return c.Config.Name != name })
}

// longWindow is the annotation with the quiet window of a workload. The line's own is too short for three edits by a busy machine.
const longWindow = "reroll.dev/window"

func TestBurstRollsOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t, shared)
	const dependents = 60
	r.annotate("sentinel", longWindow, "5s") // which waits as long as the others, so that what it waits for is over
	r.create(configMap("app", map[string]string{"k": "0"}))
	for i := range dependents {
		d := deployment(fmt.Sprintf("web-%d", i), usesEnvFrom("app"))
		d.Annotations[longWindow] = "5s"
		r.create(d)
	}
	for i := range dependents {
		r.waitBaseline(fmt.Sprintf("web-%d", i), 1)
	}
	for _, value := range []string{"1", "2", "3"} {
		r.setData("app", "k", value)
	}
	for i := range dependents {
		r.waitRolls(fmt.Sprintf("web-%d", i), 1)
	}
	r.quiesce()
	for i := range dependents {
		if got := r.rolls(fmt.Sprintf("web-%d", i)); got != 1 {
			t.Errorf("web-%d rolled %d times for three edits in one window", i, got)
		}
	}
}

func TestCausesAndEvent(t *testing.T) {
	t.Parallel()
	r := newRoom(t, shared)
	r.create(configMap("app", map[string]string{"k": "a", "same": "s"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)
	_, err := r.line.Kube.Kubectl(r.ctx, "patch", "configmap", "app", "--namespace="+r.ns, "--type=merge", "-p", `{"data":{"k":"b","new":"n"}}`, "--as=alice@example.com", "--as-group=system:masters")
	r.must(err)
	r.expectRolls("web", 1)
	r.checkCause()
	r.checkEvent()
}

func (r *room) checkCause() {
	r.t.Helper()
	reload := r.reloadOf("web")
	if len(reload.Causes) != 1 || len(reload.Causes[0].Candidates) != 1 {
		r.t.Fatalf("causes of the reload: %+v", reload.Causes)
	}
	c := reload.Causes[0]
	who := c.Candidates[0]
	if who.User != "alice@example.com" || who.Basis != "OnlyWriter" || who.AuditID == "" || who.Verb != "patch" {
		r.t.Errorf("candidate: %+v", who)
	}
	if len(c.Keys) != 2 || c.Keys[0].Key != "k" || c.Keys[0].Op != "Changed" || c.Keys[1].Key != "new" || c.Keys[1].Op != "Added" {
		r.t.Errorf("keys: %+v", c.Keys)
	}
	if c.OldSum == "" || c.NewSum == "" || c.OldSum == c.NewSum {
		r.t.Errorf("digests: %q → %q", c.OldSum, c.NewSum)
	}
	if c.ReceivedAt.Before(c.RequestedAt) || c.VerifiedAt.Before(c.ReceivedAt) || reload.DecidedAt.Before(c.VerifiedAt) || reload.PatchedAt.Before(reload.DecidedAt) {
		r.t.Errorf("times are out of order: %+v", reload)
	}
}

// reloadOf waits until the REST API lists a reload of a workload, which comes some time after the roll, and returns the newest.
func (r *room) reloadOf(name string) (found line.Reload) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(reloads, func(reload line.Reload) bool { return reload.Workload.Name == name })
		if i < 0 {
			return fmt.Errorf("no reload of %s is recorded", name)
		}
		found = reloads[i]
		return nil
	}))
	return found
}

func (r *room) checkEvent() {
	r.t.Helper()
	var events *corev1.EventList
	r.must(line.Poll(r.ctx, func(ctx context.Context) (err error) {
		events, err = r.client.CoreV1().Events(r.ns).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=web,reason=Reloaded"})
		if err == nil && len(events.Items) != 1 {
			err = fmt.Errorf("%d events, want 1", len(events.Items))
		}
		return err
	}))
	e := events.Items[0]
	if e.Type != corev1.EventTypeNormal || !strings.Contains(e.Message, "'app' of type 'CONFIGMAP'") || !strings.HasSuffix(e.Message, "; changed by alice@example.com") {
		r.t.Errorf("event: %s %q", e.Type, e.Message)
	}
}

// explained reports whether a reload has a cause, and says who made each of them by which request.
func explained(reload line.Reload) bool {
	for _, c := range reload.Causes {
		if len(c.Candidates) == 0 || c.Candidates[0].User == "" || c.Candidates[0].AuditID == "" || c.RequestedAt.IsZero() {
			return false
		}
	}
	return len(reload.Causes) > 0
}
