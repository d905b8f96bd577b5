package behaviour

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests, each of which has a namespace of its own there.
var shared *line.Line

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{
		Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}, Flags: []string{"--set", "debounce.window=100ms", "--set", "hotReload.enabled=true", "--set", "hotReload.settle=4s", "--set", "reload.argoRollouts=true"},
	}, func(ctx context.Context, l *line.Line) error {
		_, err := l.Kube.Kubectl(ctx, "apply", "--filename=../testdata/crds/rollouts.argoproj.io.yaml")
		if err == nil {
			_, err = l.Kube.Kubectl(ctx, "wait", "--for=condition=Established", "crd/rollouts.argoproj.io")
		}
		return err
	})
}

// objects are a workload with its config, and rights as the chart gives them: of a user with the role edit who may write the ConfigMap
// reroll-control in Reroll's own namespace, and of one with the role view. Nothing aggregates roles here, so these are the parts of both.
const objects = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: NAMESPACE}, data: {k: "0"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: NAMESPACE, annotations: {reroll.dev/auto: "true"}}
  spec:
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec: {containers: [{name: web, image: web, envFrom: [{configMapRef: {name: settings}}]}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: editor, namespace: NAMESPACE},
   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:aggregate-to-edit"}, subjects: [{kind: User, name: editor-NAMESPACE, apiGroup: rbac.authorization.k8s.io}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: viewer, namespace: NAMESPACE},
   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:aggregate-to-view"}, subjects: [
   {kind: User, name: viewer-NAMESPACE, apiGroup: rbac.authorization.k8s.io}, {kind: User, name: editor-NAMESPACE, apiGroup: rbac.authorization.k8s.io}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: control-NAMESPACE, namespace: default}, rules: [
   {apiGroups: [""], resources: [configmaps], verbs: [create]},
   {apiGroups: [""], resources: [configmaps], resourceNames: [reroll-control], verbs: [get, patch, update, delete]}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: control-NAMESPACE, namespace: default},
   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: control-NAMESPACE}, subjects: [{kind: User, name: editor-NAMESPACE, apiGroup: rbac.authorization.k8s.io}]}
`

// site is a namespace with a workload, a user who may edit it, freeze and pause, and one who may only look.
type site struct {
	*line.Room
	editor, viewer string // kubeconfigs
	edits          int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Room: line.NewRoom(t, shared)}
	var errs [2]error
	s.editor, errs[0] = shared.Kube.UserKubeconfig("editor-" + s.NS)
	s.viewer, errs[1] = shared.Kube.UserKubeconfig("viewer-" + s.NS)
	s.Must(errors.Join(errs[:]...))
	s.apply(objects)
	t.Cleanup(func() {
		_, _ = shared.Kube.Kubectl(context.Background(), "delete", "configmap", "reroll-control", "--ignore-not-found")
	})
	s.Baselines("web", 1)
	s.Await("rights, of which the API server learns late", func(context.Context) error {
		_, annotates := s.as(s.editor, s.annotate("rights=there")...)
		_, controls := s.as(s.editor, "--namespace=default", "auth", "can-i", "update", "configmaps/reroll-control")
		_, looks := s.as(s.viewer, "--namespace="+s.NS, "get", "deployment/web")
		return errors.Join(annotates, controls, looks)
	})
	return s
}

// apply applies manifests as a user who may do everything.
func (s *site) apply(manifests string) {
	s.T.Helper()
	s.KubectlWith(strings.ReplaceAll(manifests, "NAMESPACE", s.NS), "apply", "--namespace=", "-f", "-")
}

// as runs plain kubectl as the user of a kubeconfig.
func (s *site) as(kubeconfig string, args ...string) (string, error) {
	cmd := shared.Kube.Command(s.Ctx(), args...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %v: %w: %s", args, err, out)
	}
	return string(out), err
}

// allowed runs kubectl as the editor, and refused as the viewer, whom the API server must refuse.
func (s *site) allowed(args ...string) {
	s.T.Helper()
	_, err := s.as(s.editor, args...)
	s.Must(err)
}

func (s *site) refused(args ...string) {
	s.T.Helper()
	if out, err := s.as(s.viewer, args...); err == nil || !strings.Contains(err.Error(), "(Forbidden)") && !strings.Contains(err.Error(), "forbidden:") {
		s.T.Fatalf("kubectl %v of a user without the right: %s, %v", args, out, err)
	}
}

// annotate are the arguments that give the workload an annotation.
func (s *site) annotate(annotation string) []string {
	return []string{"--namespace=" + s.NS, "annotate", "deployment/web", "--overwrite", annotation}
}

// control are the arguments that make a ConfigMap reroll-control with a document, and amend those that write another one into it.
func control(document string) []string {
	return []string{"--namespace=default", "create", "configmap", "reroll-control", "--from-literal=control.yaml=" + document}
}

func amend(document string) []string {
	return []string{"--namespace=default", "patch", "configmap", "reroll-control", "-p", fmt.Sprintf(`{"data":{"control.yaml":%q}}`, document)}
}

// edit changes the config that the workload uses.
func (s *site) edit() {
	s.T.Helper()
	s.edits++
	s.Edit("settings", fmt.Sprint(s.edits))
}

// rolls returns how often the workload was rolled. The generation of a Deployment counts annotations, too.
func (s *site) rolls() (n int) {
	reloads, err := shared.Reroll.Reloads(s.Ctx(), s.NS)
	s.Must(err)
	for _, r := range reloads {
		if r.Outcome == "Reloaded" {
			n++
		}
	}
	return n
}

func (s *site) rolled(n int) {
	s.AwaitThat(fmt.Sprint("rolls: ", n), func() bool { return s.rolls() == n })
}

func (s *site) held(reason string) {
	s.AwaitThat("held back for "+reason, func() bool {
		hold, err := shared.Reroll.Hold(s.Ctx(), s.NS, "web")
		return err == nil && hold.Reason == reason
	})
}

// stays fails the test if the workload has rolled since. What rolls a moment later makes the next count one too many.
func (s *site) stays(n int) {
	s.T.Helper()
	if got := s.rolls(); got != n {
		s.T.Fatalf("rolled %d times, want %d", got, n)
	}
}

func TestFreeze(t *testing.T) {
	s := newSite(t)
	freeze, thaw := control("freeze: {reason: incident 7}"), []string{"--namespace=default", "delete", "configmap", "reroll-control"}
	s.refused(freeze...)
	s.edit()
	s.rolled(1) // nothing was frozen
	s.allowed(freeze...)
	s.AwaitThat("a freeze", func() bool { return strings.Contains(shared.Reroll.Log(), `frozen=true reason="incident 7"`) })
	s.edit()
	s.held("Frozen")
	s.refused(thaw...)
	s.stays(1)
	s.allowed(amend("frezze: {}")...) // what cannot be read is a freeze, and a problem of the cluster
	s.AwaitThat("a problem", func() bool {
		var page struct {
			Items []struct{ Problems []struct{ Message string } }
		}
		err := shared.Reroll.Get(s.Ctx(), "/api/v1/clusters", &page)
		return err == nil && strings.Contains(fmt.Sprint(page), "frezze")
	})
	s.stays(1)
	s.allowed(thaw...)
	s.rolled(2)
}

func TestPause(t *testing.T) {
	s := newSite(t)
	pause := control("pauses: [{namespace: " + s.NS + ", until: " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + "}]")
	s.refused(pause...)
	s.edit()
	s.rolled(1)
	s.allowed(pause...)
	s.AwaitThat("a pause", func() bool { // what is asked for once it is known is held back
		s.allowed(s.annotate(fmt.Sprint("reroll.dev/requested=", time.Now().UnixNano()))...)
		hold, err := shared.Reroll.Hold(s.Ctx(), s.NS, "web")
		return err == nil && hold.Reason == "PausedByOperator"
	})
	paused := s.rolls()
	s.edit()
	s.refused(amend("")...)
	s.stays(paused)
	s.allowed(amend("")...)
	s.AwaitThat("the end of the pause", func() bool { return s.rolls() > paused })
}

func TestRequest(t *testing.T) {
	s := newSite(t)
	request := s.annotate("reroll.dev/requested=new certificates")
	s.refused(request...)
	s.stays(0)
	s.allowed(request...)
	s.rolled(1)
	s.allowed(request...) // the same value asks for nothing, to the next process neither
	s.Restart()
	s.stays(1)
	s.allowed(s.annotate("reroll.dev/requested=again")...)
	s.rolled(2)
}
