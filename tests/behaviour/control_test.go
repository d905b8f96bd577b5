package behaviour

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests, each of which has a namespace of its own there.
var shared *line.Line

func TestMain(m *testing.M) {
	var err error
	shared, err = line.Start(context.Background(), line.Options{
		Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}, Flags: []string{"--set", "debounce.window=100ms"},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Stop()
	os.Exit(code)
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
	t              *testing.T
	ctx            context.Context
	ns             string
	editor, viewer string // kubeconfigs
	edits          int
}

func newSite(t *testing.T) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, ns: shared.Kube.Namespace(t)}
	var errs [2]error
	s.editor, errs[0] = shared.Kube.UserKubeconfig("editor-" + s.ns)
	s.viewer, errs[1] = shared.Kube.UserKubeconfig("viewer-" + s.ns)
	s.must(errors.Join(errs[:]...))
	s.apply(objects)
	t.Cleanup(func() {
		_, _ = shared.Kube.Kubectl(context.Background(), "delete", "configmap", "reroll-control", "--ignore-not-found")
	})
	s.await("a baseline, and rights, of which the API server learns late", func() error {
		n, err := shared.Reroll.Baselines(ctx, s.ns, "web")
		_, annotates := s.kubectl(s.editor, s.annotate("rights=there")...)
		_, controls := s.kubectl(s.editor, "--namespace=default", "auth", "can-i", "update", "configmaps/reroll-control")
		_, looks := s.kubectl(s.viewer, "--namespace="+s.ns, "get", "deployment/web")
		return errors.Join(err, annotates, controls, looks, unless(n == 1))
	})
	return s
}

func unless(holds bool) error {
	if holds {
		return nil
	}
	return errors.New("not so yet")
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		log := shared.Reroll.Log()
		s.t.Fatalf("%v\nreroll's log:\n%s", err, log[max(0, len(log)-4000):])
	}
}

func (s *site) await(what string, check func() error) {
	s.t.Helper()
	if err := line.Poll(s.ctx, func(context.Context) error { return check() }); err != nil {
		s.must(fmt.Errorf("%s: %w", what, err))
	}
}

// apply applies manifests as a user who may do everything.
func (s *site) apply(manifests string) {
	s.t.Helper()
	cmd := shared.Kube.Command(s.ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(manifests, "NAMESPACE", s.ns))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// kubectl runs plain kubectl as the user of a kubeconfig.
func (s *site) kubectl(kubeconfig string, args ...string) (string, error) {
	cmd := shared.Kube.Command(s.ctx, args...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %v: %w: %s", args, err, out)
	}
	return string(out), err
}

// allowed runs kubectl as the editor, and refused as the viewer, whom the API server must refuse.
func (s *site) allowed(args ...string) {
	s.t.Helper()
	_, err := s.kubectl(s.editor, args...)
	s.must(err)
}

func (s *site) refused(args ...string) {
	s.t.Helper()
	if out, err := s.kubectl(s.viewer, args...); err == nil || !strings.Contains(err.Error(), "(Forbidden)") && !strings.Contains(err.Error(), "forbidden:") {
		s.t.Fatalf("kubectl %v of a user without the right: %s, %v", args, out, err)
	}
}

// annotate are the arguments that give the workload an annotation.
func (s *site) annotate(annotation string) []string {
	return []string{"--namespace=" + s.ns, "annotate", "deployment/web", "--overwrite", annotation}
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
	s.t.Helper()
	s.edits++
	_, err := shared.Kube.Kubectl(s.ctx, "--namespace="+s.ns, "patch", "configmap", "settings", "-p", fmt.Sprintf(`{"data":{"k":"%d"}}`, s.edits))
	s.must(err)
}

// rolls returns how often the workload was rolled. The generation of a Deployment counts annotations, too.
func (s *site) rolls() (n int) {
	reloads, err := shared.Reroll.Reloads(s.ctx, s.ns)
	s.must(err)
	for _, r := range reloads {
		if r.Outcome == "Reloaded" {
			n++
		}
	}
	return n
}

func (s *site) rolled(n int) {
	s.await(fmt.Sprint("rolls: ", n), func() error { return unless(s.rolls() == n) })
}

func (s *site) held(reason string) {
	s.await("held back for "+reason, func() error {
		hold, err := shared.Reroll.Hold(s.ctx, s.ns, "web")
		return errors.Join(err, unless(hold.Reason == reason))
	})
}

// stays fails the test if the workload has rolled since. What rolls a moment later makes the next count one too many.
func (s *site) stays(n int) {
	s.t.Helper()
	if got := s.rolls(); got != n {
		s.t.Fatalf("rolled %d times, want %d", got, n)
	}
}

func TestFreeze(t *testing.T) {
	s := newSite(t)
	freeze, thaw := control("freeze: {reason: incident 7}"), []string{"--namespace=default", "delete", "configmap", "reroll-control"}
	s.refused(freeze...)
	s.edit()
	s.rolled(1) // nothing was frozen
	s.allowed(freeze...)
	s.await("a freeze", func() error { return unless(strings.Contains(shared.Reroll.Log(), `frozen=true reason="incident 7"`)) })
	s.edit()
	s.held("Frozen")
	s.refused(thaw...)
	s.stays(1)
	s.allowed(amend("frezze: {}")...) // what cannot be read is a freeze, and a problem of the cluster
	s.await("a problem", func() error {
		var page struct {
			Items []struct{ Problems []struct{ Message string } }
		}
		err := shared.Reroll.Get(s.ctx, "/api/v1/clusters", &page)
		return errors.Join(err, unless(strings.Contains(fmt.Sprint(page), "frezze")))
	})
	s.stays(1)
	s.allowed(thaw...)
	s.rolled(2)
}

func TestPause(t *testing.T) {
	s := newSite(t)
	pause := control("pauses: [{namespace: " + s.ns + ", until: " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + "}]")
	s.refused(pause...)
	s.edit()
	s.rolled(1)
	s.allowed(pause...)
	s.await("a pause", func() error { // what is asked for once it is known is held back
		s.allowed(s.annotate(fmt.Sprint("reroll.dev/requested=", time.Now().UnixNano()))...)
		hold, err := shared.Reroll.Hold(s.ctx, s.ns, "web")
		return errors.Join(err, unless(hold.Reason == "PausedByOperator"))
	})
	paused := s.rolls()
	s.edit()
	s.refused(amend("")...)
	s.stays(paused)
	s.allowed(amend("")...)
	s.await("the end of the pause", func() error { return unless(s.rolls() > paused) })
}

func TestRequest(t *testing.T) {
	s := newSite(t)
	request := s.annotate("reroll.dev/requested=new certificates")
	s.refused(request...)
	s.stays(0)
	s.allowed(request...)
	s.rolled(1)
	s.allowed(request...) // the same value asks for nothing, to the next process neither
	s.must(shared.Reroll.Terminate(s.ctx))
	s.must(shared.Reroll.Start())
	s.must(shared.Reroll.WaitReady(s.ctx))
	s.stays(1)
	s.allowed(s.annotate("reroll.dev/requested=again")...)
	s.rolled(2)
}
