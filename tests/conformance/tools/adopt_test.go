package tools

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// testTime bounds the whole, and stepTime each wait.
const (
	testTime = 8 * time.Minute
	stepTime = time.Minute
)

// tool is what a workload looks like that a tool has rolled last for configs as they are.
type tool struct {
	annotations map[string]string
	// template are annotations of the pod template, and env are variables of its container.
	template map[string]string
	env      []corev1.EnvVar
}

// given is what workloads use together: two ConfigMaps and a Secret of the name of the first.
type given struct {
	one, two *corev1.ConfigMap
	secret   *corev1.Secret
}

// The data of the three: that of the second ConfigMap is another one, as a hash in the wrong place would show.
var (
	data    = map[string]string{"a": "1", "b": "2"}
	twoData = map[string]string{"a": "1", "b": "9"}
)

func sum1(text string) string   { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }
func sum256(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func base64Sum256(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.URLEncoding.EncodeToString(sum[:])
}

// left returns what each tool has left behind.
func left(g given) map[string]tool {
	name, upper := g.one.Name, strings.ToUpper(g.one.Name)
	both := g.one.Name + "," + g.two.Name
	version := func(kind string, o metav1.Object) string {
		return fmt.Sprintf("%s/%s/%s/%s.%s\n", kind, o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion())
	}
	const waveData = `{"a":"MQ==","b":"Mg=="}`
	return map[string]tool{
		"sap": {
			annotations: map[string]string{"pod-reloader.cs.sap.com/configmaps": both, "pod-reloader.cs.sap.com/secrets": name},
			template: map[string]string{
				"pod-reloader.cs.sap.com/config-hash": sum256(version("configmap", g.one) + version("configmap", g.two) + version("secret", g.secret)),
			},
		},
		"wave": {
			annotations: map[string]string{"wave.pusher.com/update-on-config-change": "true"},
			template: map[string]string{"wave.pusher.com/config-hash": sum256(
				`{"configMaps":{"` + name + `":` + waveData + `,"` + g.two.Name + `":{"a":"MQ==","b":"OQ=="}},"secrets":{"` + name + `":` + waveData + `}}`)},
		},
		"collaborne": {
			annotations: map[string]string{"reloader.k8s.collaborne.com/configmap": both, "reloader.k8s.collaborne.com/secret": name},
			env: []corev1.EnvVar{
				{Name: "_RELOADER_CONFIGMAP_" + upper, Value: sum1("a=1b=2")},
				{Name: "_RELOADER_CONFIGMAP_" + upper + "_2", Value: sum1("a=1b=9")},
				{Name: "_RELOADER_SECRET_" + upper, Value: sum1("a=MQ==b=Mg==")},
			},
		},
		"fabric8": {
			annotations: map[string]string{"configmap.fabric8.io/update-on-change": both},
			env: []corev1.EnvVar{
				{Name: "FABRIC8_" + upper + "_CONFIGMAP", Value: base64Sum256("a=1;b=2")},
				{Name: "FABRIC8_" + upper + "_2_CONFIGMAP", Value: base64Sum256("a=1;b=9")},
			},
		},
		"trigger": {
			annotations: map[string]string{"trigger.k8s.io/triggering-configMaps": both, "trigger.k8s.io/triggering-secrets": name},
			template: map[string]string{
				"trigger.k8s.io/configMap-" + name + "-last-hash":       sum1("ab12"),
				"trigger.k8s.io/configMap-" + g.two.Name + "-last-hash": sum1("ab19"),
				"trigger.k8s.io/secret-" + name + "-last-hash":          sum1("ab12"),
			},
		},
	}
}

// TestAdoption starts Reroll, which knows nothing, next to workloads of every tool, each of which uses several configs. It rolls none of them then,
// and each once for each change of one of them after that; those whose configs nobody edits it never rolls.
func TestAdoption(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	l, err := line.Start(ctx, line.Options{Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	if err := l.Reroll.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	namespace := l.Kube.Namespace(t)
	workloads, calm := takenOver(ctx, t, l, namespace, "app"), takenOver(ctx, t, l, namespace, "calm")
	if err := l.Reroll.Start("--data-dir", l.DataDir()+"-new", "--set", "debounce.window=0s"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reroll.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	expectGenerations(ctx, t, l, namespace, workloads, 0)
	for i, edit := range []struct{ kind, name, a string }{
		{"configmap", "app", "3"}, {"configmap", "app", "1"}, {"configmap", "app-2", "3"}, {"secret", "app", "Mw=="},
	} {
		if edit.kind == "secret" { // which fabric8's tool does not know
			expectGenerations(ctx, t, l, namespace, map[string]int64{"app-fabric8": workloads["app-fabric8"]}, int64(i))
			delete(workloads, "app-fabric8")
		}
		patch := fmt.Sprintf(`{"data":{"a":%q}}`, edit.a)
		if _, err := l.Kube.Kubectl(ctx, "patch", edit.kind, edit.name, "--namespace="+namespace, "--type=merge", "--patch="+patch); err != nil {
			t.Fatal(err)
		}
		expectGenerations(ctx, t, l, namespace, workloads, int64(i)+1)
	}
	expectGenerations(ctx, t, l, namespace, calm, 0)
	if t.Failed() {
		t.Log(l.Reroll.Log())
	}
}

// takenOver creates configs, and next to them what each tool has left behind, and returns the generations of the workloads by their names.
func takenOver(ctx context.Context, t *testing.T, l *line.Line, namespace, config string) map[string]int64 {
	t.Helper()
	client := l.Kube.Client()
	one, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config}, Data: data}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config + "-2"}, Data: twoData}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: config}, StringData: data}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	generations := map[string]int64{}
	for name, left := range left(given{one, two, secret}) {
		created, err := client.AppsV1().Deployments(namespace).Create(ctx, left.deployment(config+"-"+name, config), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		generations[created.Name] = created.Generation
	}
	return generations
}

// deployment returns a Deployment with x on it, which takes its environment from all that is given by the name of the first config.
func (x tool) deployment(name, config string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	configMap := func(name string) corev1.EnvFromSource {
		return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
	}
	container := corev1.Container{Name: "main", Image: "example.com/none", Env: x.env, EnvFrom: []corev1.EnvFromSource{
		configMap(config), configMap(config + "-2"),
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}},
	}}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: x.annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: x.template},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}
}

// expectGenerations waits until every workload has been rolled that often, and fails if one was rolled more often, be it for what was
// expected before.
func expectGenerations(ctx context.Context, t *testing.T, l *line.Line, namespace string, first map[string]int64, rolls int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		for name, generation := range first {
			now, err := l.Kube.Client().AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return line.Stop(err)
			}
			switch got := now.Generation - generation; {
			case got > rolls:
				return line.Stop(fmt.Errorf("%s was rolled %d times, want %d", name, got, rolls))
			case got < rolls:
				return fmt.Errorf("%s was rolled %d times, want %d", name, got, rolls)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
