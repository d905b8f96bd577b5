package migrate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// installations are how the Deployment of each tool is called, and its namespace.
var installations = map[string]string{
	"sap": "pod-reloader", "wave": "wave", "collaborne": "kubernetes-reloader", "fabric8": "configmapcontroller",
	"trigger": "k8s-trigger-controller",
}

// TestOtherGuides follows the guide for each of the other tools to its end: nothing is rolled for the move in, what was missed while neither of the two
// worked is rolled once, the next edit is, and the marks are those that the tool would have written.
func TestOtherGuides(t *testing.T) {
	for _, tool := range otherTools() {
		t.Run(tool, func(t *testing.T) {
			awaitNobody(t)
			y := newYard(t, tool)
			y.install()
			r := newReader(t, tool, "config: {reload: {strategy: env-vars}}\n")
			if said := r.follow(t, sortOut, nil); !strings.Contains(said, "3 workloads; the first start rolls 0; 0 with conflicts, 0 with typos, 0 with leftovers") {
				t.Errorf("it says:\n%s", said)
			}
			was, pods := y.generations(), y.look()
			r.follow(t, observeOther, nil)
			y.expect(was, 0, 0)
			r.follow(t, swapOther, map[string]func(){"dryRun=false": func() { y.edit("missed", "2") }})
			y.expect(was, 0, 1)
			y.edit("seen", "3")
			y.expect(was, 1, 1)
			rolled := int64(1)
			if y.editSecret("seen", "2"); tool != "fabric8" { // which knows none
				rolled = 2
			}
			y.expect(was, rolled, 1)
			r.follow(t, cleanUpOther, nil)
			y.expectGone()
			y.expect(was, rolled, 1)
			if now := y.look()["kept"]; !slices.Equal(now, pods["kept"]) {
				t.Errorf("the pods of a workload that nothing has changed were %q, and are %q", pods["kept"], now)
			}
			r.Follow(t, "helm uninstall reroll --namespace reroll")
		})
	}
}

// awaitNobody waits until no Deployments of other tests are left.
func awaitNobody(t *testing.T) {
	t.Helper()
	line.Eventually(t, "no Deployments of other tests", func(ctx context.Context) error {
		list, err := shared.Kube.Client().AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%s/%s is still there", list.Items[0].Namespace, list.Items[0].Name)
		}
		return err
	})
}

// yard is a namespace with running pods, whose Deployments seen, missed and kept another tool than Stakater Reloader has marked, each for the
// ConfigMap of its name.
type yard struct {
	shop
	tool string
}

func newYard(t *testing.T, tool string) yard {
	t.Helper()
	y := yard{shop{Room: line.NewRoom(t, shared)}, tool}
	for _, name := range []string{"seen", "missed", "kept"} {
		g := y.config(t, name)
		if _, err := shared.Kube.Client().AppsV1().Deployments(y.NS).Create(t.Context(), otherMarks[tool](g).deployment(name, name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"seen", "missed", "kept"} {
		y.awaitPods(name)
	}
	return y
}

// config makes a ConfigMap and a Secret.
func (s shop) config(t *testing.T, name string) given {
	t.Helper()
	meta, core := metav1.ObjectMeta{Name: name}, shared.Kube.Client().CoreV1()
	if _, err := core.ConfigMaps(s.NS).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Secrets(s.NS).Create(t.Context(), &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"s": "1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	g, err := s.given(t.Context(), name)
	line.Must(t, err)
	return g
}

// given reads a ConfigMap and the Secret of its name.
func (s shop) given(ctx context.Context, name string) (given, error) {
	cm, err := shared.Kube.Client().CoreV1().ConfigMaps(s.NS).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return given{}, err
	}
	secret, err := shared.Kube.Client().CoreV1().Secrets(s.NS).Get(ctx, name, metav1.GetOptions{})
	return given{cm, secret}, err
}

// editSecret gives a Secret another content.
func (s shop) editSecret(name, value string) {
	s.T.Helper()
	s.Kubectl("patch", "secret/"+name, "--patch", fmt.Sprintf(`{"stringData":{"s":%q}}`, value))
}

// theirs stands for an installation of a tool. Its webhook would refuse everything here, where nobody answers; so it selects nothing.
const theirs = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: NAME}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: reloader-state, namespace: NAME}, data: {v1.ConfigMap_seen: HASH}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: NAME, namespace: NAME}
  spec: {selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: main, image: "registry.example/none:1"}]}}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingWebhookConfiguration
  metadata: {name: NAME}
  webhooks: [{name: mutate.apps.k8s.io, failurePolicy: Fail, sideEffects: None, admissionReviewVersions: [v1], namespaceSelector: {matchLabels: {example.com/nobody: here}},
    clientConfig: {service: {namespace: NAME, name: NAME, port: 443}}}]
`

// install makes what stands for an installation of the tool, as far as its guide names it. Nothing of it runs.
func (y yard) install() {
	y.T.Helper()
	name := installations[y.tool]
	y.KubectlWith(strings.NewReplacer("NAME", name, "HASH", sum1("a=1")).Replace(theirs), "apply", "--namespace=", "--filename=-")
	y.Must(shared.Kube.WaitRollout(y.Ctx(), name, "deployment", name))
}

// expectGone checks that the guide leaves nothing of the tool.
func (y yard) expectGone() {
	y.T.Helper()
	name := installations[y.tool]
	if left := y.Kubectl("get", "--namespace="+name, "--ignore-not-found", "deployment/"+name, "mutatingwebhookconfiguration/"+name); left != "" {
		y.T.Errorf("the tool is still there: %s", left)
	}
}

// generations returns how often each Deployment was changed.
func (y yard) generations() map[string]int64 {
	y.T.Helper()
	found := map[string]int64{}
	for _, name := range []string{"seen", "missed", "kept"} {
		found[name] = y.generation(name)
	}
	return found
}

// expect waits until seen and missed were rolled that often since, and carry the tool's marks for what their ConfigMaps hold; and checks that
// nothing was rolled more often than that.
func (y yard) expect(since map[string]int64, seen, missed int64) {
	y.T.Helper()
	y.Await("the rolls and marks", func(ctx context.Context) error {
		for name, want := range map[string]int64{"seen": seen, "missed": missed, "kept": 0} {
			d := y.Deployment(name)
			switch got := d.Generation - since[name]; {
			case got > want:
				return line.Stop(fmt.Errorf("%s was rolled %d times, want %d", name, got, want))
			case got < want:
				return fmt.Errorf("%s was rolled %d times, want %d", name, got, want)
			}
			if err := y.expectMark(ctx, name, d, want > 0); err != nil {
				return err
			}
		}
		return nil
	})
	for _, name := range []string{"seen", "missed"} {
		y.awaitPods(name)
	}
}

// expectMark checks that a Deployment carries the mark of what there is: that of the tool, and of SAP's one of digests if Reroll has rolled it.
func (y yard) expectMark(ctx context.Context, name string, d *appsv1.Deployment, rolled bool) error {
	g, err := y.given(ctx, name)
	if err != nil {
		return line.Stop(err)
	}
	want := otherMarks[y.tool](g)
	if mark := d.Spec.Template.Annotations[sapHash]; y.tool == "sap" && rolled {
		if len(mark) != 64 || mark == want.template[sapHash] {
			return line.Stop(fmt.Errorf("%s has the mark %q, which is to be one of digests", name, mark))
		}
		want.template[sapHash] = mark
	}
	if !want.on(d) {
		return line.Stop(fmt.Errorf("%s does not carry what the tool would have written, %+v: %+v", name, want, d.Spec.Template))
	}
	return nil
}
