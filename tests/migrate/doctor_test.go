package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// census is what reroll migrate says, as far as the test reads it.
type census struct {
	Items []struct {
		Workload struct{ Name string }
		Tools    []struct {
			Dialect string
			Marks   []string
		}
		Findings []struct{ Kind, Message, Fix string }
		Configs  []struct{ Config struct{ Name string } }
		Rolls    bool
	}
	Summary struct{ Workloads, Rolls, Conflicts, Typos, Leftovers, Unknown int }
}

// TestDoctorForesees asks the doctor about a cluster in which every tool has left something, some of it wrong, and then has Reroll move in: it
// rolls what the doctor has said that it rolls, once, and nothing else. The doctor itself writes nothing.
func TestDoctorForesees(t *testing.T) {
	awaitNobody(t)
	s := mixed(t)
	was := s.versions(t)
	said := s.doctor(t, 1)
	if diff := s.versions(t); !maps.Equal(was, diff) {
		t.Errorf("something was written: %v, and before %v", diff, was)
	}
	want := map[string]string{
		"app-stale": "rolls", "app-two": "Conflict stakater and wave ask for rolls",
		"app-name": "Typo did you mean other?", "app-key": "Typo did you mean reloader.stakater.com/auto?", "app-held": "Leftover default-scheduler",
		"app-final": "Leftover finalizers",
	}
	for name := range otherMarks {
		want["app-"+name] = ""
	}
	rolls, asking := map[string]int64{}, map[string]int64{}
	for _, item := range said.Items {
		name := item.Workload.Name
		expected, known := want[name]
		if !known || len(item.Tools) == 0 && name != "app-key" {
			t.Errorf("%s is told as %+v", name, item)
		}
		delete(want, name)
		if item.Rolls != (expected == "rolls") {
			t.Errorf("of %s it says that moving in rolls it: %t", name, item.Rolls)
		}
		if item.Rolls {
			rolls[name] = 1
		}
		for _, c := range item.Configs {
			if c.Config.Name == "app" {
				asking[name] = 1
			}
		}
		kind, part, _ := strings.Cut(expected, " ")
		told := slices.ContainsFunc(item.Findings, func(f struct{ Kind, Message, Fix string }) bool {
			return f.Kind == kind && strings.Contains(f.Message+f.Fix, part)
		})
		if clean := expected == "" || expected == "rolls"; clean != (len(item.Findings) == 0) || !clean && !told {
			t.Errorf("of %s it finds %+v, want %q", name, item.Findings, expected)
		}
	}
	if len(want) > 0 || said.Summary.Workloads != len(said.Items) || said.Summary.Rolls != 1 {
		t.Errorf("it says nothing of %v, and counts %+v", want, said.Summary)
	}
	s.mend(t, said)
	s.moveInAs(t, rolls, asking)
}

// waveFinalizer is what Wave up to v0.6 leaves on the workloads that it handles.
const waveFinalizer = "wave.pusher.com/finalizer"

// fix runs what the doctor says about the finalizer as it stands there: the workload has none after that, and is not written otherwise.
func (s shop) mend(t *testing.T, said census) {
	t.Helper()
	before := s.versions(t)
	for _, item := range said.Items {
		for _, f := range item.Findings {
			if command, ok := strings.CutPrefix(f.Fix, "kubectl "); ok {
				if _, err := shared.Kube.Kubectl(t.Context(), strings.Fields(strings.ReplaceAll(command, "'", ""))...); err != nil {
					t.Error(err)
				}
			}
		}
	}
	d, err := shared.Kube.Client().AppsV1().Deployments(s.namespace).Get(t.Context(), "app-final", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if after := s.versions(t); len(d.Finalizers) > 0 || !maps.Equal(before, after) {
		t.Errorf("the finalizers are %v; the workloads are %v, and were %v", d.Finalizers, after, before)
	}
}

// mixed returns a namespace with a Deployment that each tool has rolled last for the present content, one for which one was too late, and some
// with mistakes.
func mixed(t *testing.T) shop {
	t.Helper()
	s := shop{namespace: shared.Kube.Namespace(t)}
	g := s.config(t, "app")
	s.config(t, "other")
	workloads := map[string]left{
		"app-stale": {annotations: map[string]string{"reloader.stakater.com/auto": "true"}, env: []corev1.EnvVar{{Name: "STAKATER_APP_CONFIGMAP", Value: sum1("a=0")}}},
		"app-two":   {annotations: map[string]string{"reloader.stakater.com/auto": "true", "wave.pusher.com/update-on-config-change": "true"}},
		"app-name":  {annotations: map[string]string{"configmap.reloader.stakater.com/reload": "othr"}},
		"app-key":   {annotations: map[string]string{"reloader.stakater.com/atuo": "true"}},
		"app-held": {annotations: map[string]string{
			"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/scheduling-disabled": "default-scheduler",
		}},
		"app-final": {annotations: map[string]string{"reloader.stakater.com/auto": "true"}, finalizers: []string{waveFinalizer}},
		"app-plain": {},
	}
	for tool, marks := range otherMarks {
		workloads["app-"+tool] = marks(g)
	}
	// Nothing but its pods tells to what content a workload without a mark was brought: these start after the last write.
	unmarked := map[string]left{}
	for _, name := range []string{"app-two", "app-held", "app-final"} {
		unmarked[name] = workloads[name]
		delete(workloads, name)
	}
	s.deploy(t, workloads)
	// The pods of this one have started before its ConfigMap was written last, so that they cannot have the content by themselves.
	for name, was := range map[string]string{"app": "0", "other": "1"} {
		s.edit(t, name, was)
	}
	s.edit(t, "app", "1")
	<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // pods tell whole seconds
	s.deploy(t, unmarked)
	s.markSAP(t)
	return s
}

// deploy makes Deployments that refer to the ConfigMap app, and waits for their pods.
func (s shop) deploy(t *testing.T, workloads map[string]left) {
	t.Helper()
	for name, l := range workloads {
		if _, err := shared.Kube.Client().AppsV1().Deployments(s.namespace).Create(t.Context(), l.deployment(name, "app"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name := range workloads {
		s.awaitPods(t, name)
	}
}

// markSAP gives the workload of SAP's tool the mark of the ConfigMap's present version.
func (s shop) markSAP(t *testing.T) {
	t.Helper()
	client := shared.Kube.Client()
	g, err := s.given(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	d, err := client.AppsV1().Deployments(s.namespace).Get(t.Context(), "app-sap", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(d.Spec.Template.Annotations, otherMarks["sap"](g).template)
	if _, err := client.AppsV1().Deployments(s.namespace).Update(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitPods(t, "app-sap")
}

func (s shop) deployments(ctx context.Context) ([]appsv1.Deployment, error) {
	list, err := shared.Kube.Client().AppsV1().Deployments(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// versions returns the generation and annotations of each Deployment: what changes when it is written, and not when its pods come up.
func (s shop) versions(t *testing.T) map[string]string {
	t.Helper()
	list, err := s.deployments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, d := range list {
		delete(d.Annotations, "deployment.kubernetes.io/revision")
		found[d.Name] = fmt.Sprint(d.Generation, d.Annotations)
	}
	return found
}

// doctor runs reroll migrate as a user who may read, and nothing else, and expects its code.
func (s shop) doctor(t *testing.T, code int) (said census) {
	t.Helper()
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "migrate", "--kubeconfig", s.watcher(t), "--namespace", s.namespace, "--output", "json")
	output, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() != code {
		t.Fatalf("it ends with %d, want %d: %s %v", cmd.ProcessState.ExitCode(), code, output, ended)
	}
	if err := json.Unmarshal(output, &said); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return said
}

// watcher returns the kubeconfig of a user who may read.
func (s shop) watcher(t *testing.T) string {
	t.Helper()
	for _, create := range [][]string{
		{"create", "role", "watcher", "--verb=get,list", "--resource=configmaps,secrets,pods,deployments.apps,statefulsets.apps,daemonsets.apps,cronjobs.batch,jobs.batch", "--namespace=" + s.namespace},
		{"create", "rolebinding", "watcher", "--role=watcher", "--user=watcher", "--namespace=" + s.namespace},
	} {
		if _, err := shared.Kube.Kubectl(t.Context(), create...); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig, err := shared.Kube.UserKubeconfig("watcher")
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// moveInAs starts Reroll, which knows nothing, and expects that it rolls each Deployment as often as foreseen; and then that a change of the
// ConfigMap app rolls those of asking once more, and no others.
func (s shop) moveInAs(t *testing.T, foreseen, asking map[string]int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	was := map[string]int64{}
	list, err := s.deployments(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		was[d.Name] = d.Generation
	}
	if err := shared.Reroll.Start("--data-dir", filepath.Join(t.TempDir(), "data"), "--set", "debounce.window=0s"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := shared.Reroll.Terminate(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	if err := shared.Reroll.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	for name, times := range foreseen {
		s.awaitReload(t, name, "Reloaded", int(times))
	}
	s.edit(t, "app", "3")
	err = line.Poll(ctx, func(ctx context.Context) error {
		list, err := s.deployments(ctx)
		if err != nil {
			return err
		}
		for _, d := range list {
			want := foreseen[d.Name] + asking[d.Name]
			switch got := d.Generation - was[d.Name]; {
			case got > want:
				return line.Stop(fmt.Errorf("%s was rolled %d times, and %d times was foreseen", d.Name, got, want))
			case got < want:
				return fmt.Errorf("%s was rolled %d times, and %d times was foreseen", d.Name, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
