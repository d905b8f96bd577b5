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
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// testTime bounds the whole, and stepTime each wait.
const (
	testTime = 8 * time.Minute
	stepTime = time.Minute
)

// tool is what a workload looks like that a tool has rolled last for a ConfigMap as it is, whose data is {a: "1", b: "2"}.
type tool struct {
	annotations map[string]string
	// template are annotations of the pod template, and env is a variable of its container.
	template map[string]string
	env      corev1.EnvVar
}

// left returns what each tool has left behind of a ConfigMap.
func left(c *corev1.ConfigMap) map[string]tool {
	name, upper := c.Name, strings.ToUpper(c.Name)
	sha := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	fabric8 := sha256.Sum256([]byte("a=1;b=2"))
	version := fmt.Sprintf("configmap/%s/%s/%s.%s\n", c.Namespace, name, c.UID, c.ResourceVersion)
	return map[string]tool{
		"sap": {
			annotations: map[string]string{"pod-reloader.cs.sap.com/configmaps": name},
			template:    map[string]string{"pod-reloader.cs.sap.com/config-hash": sha(version)},
		},
		"wave": {
			annotations: map[string]string{"wave.pusher.com/update-on-config-change": "true"},
			template:    map[string]string{"wave.pusher.com/config-hash": sha(`{"configMaps":{"` + name + `":{"a":"MQ==","b":"Mg=="}},"secrets":{}}`)},
		},
		"collaborne": {
			annotations: map[string]string{"reloader.k8s.collaborne.com/configmap": name},
			env:         corev1.EnvVar{Name: "_RELOADER_CONFIGMAP_" + upper, Value: fmt.Sprintf("%x", sha1.Sum([]byte("a=1b=2")))},
		},
		"fabric8": {
			annotations: map[string]string{"configmap.fabric8.io/update-on-change": name},
			env:         corev1.EnvVar{Name: "FABRIC8_" + upper + "_CONFIGMAP", Value: base64.URLEncoding.EncodeToString(fabric8[:])},
		},
		"trigger": {
			annotations: map[string]string{"trigger.k8s.io/triggering-configMaps": name},
			template:    map[string]string{"trigger.k8s.io/configMap-" + name + "-last-hash": fmt.Sprintf("%x", sha1.Sum([]byte("ab12")))},
		},
		"xing": {
			annotations: map[string]string{
				"com.xing.deployment-restart":                          "enabled",
				"com.xing.deployment-restart.applied-config-checksums": fmt.Sprintf(`{"configmap/%s/%s":"%.16s"}`, c.Namespace, name, sha(`{"a":"1","b":"2"}`)),
			},
			template: map[string]string{"com.xing.deployment-restart.timestamp": "2026-11-01T00:00:00Z"},
		},
	}
}

// TestAdoption starts Reroll, which knows nothing, beside workloads of every tool. It rolls none of them then, and each once for each change
// after that; those of a ConfigMap that nobody edits it never rolls.
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
	if err := l.Reroll.Start("--data-dir", l.DataDir()+"-new", "--coalesce-window", "0s"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reroll.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	expectGenerations(ctx, t, l, namespace, workloads, 0)
	for rolls, value := range []string{"3", "1"} {
		patch := fmt.Appendf(nil, `{"data":{"a":%q}}`, value)
		if _, err := l.Kube.Client().CoreV1().ConfigMaps(namespace).Patch(ctx, "app", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		expectGenerations(ctx, t, l, namespace, workloads, int64(rolls)+1)
	}
	expectGenerations(ctx, t, l, namespace, calm, 0)
	if t.Failed() {
		t.Log(l.Reroll.Log())
	}
}

// takenOver creates a ConfigMap, and beside it what each tool has left behind, and returns the generations of the workloads by their names.
func takenOver(ctx context.Context, t *testing.T, l *line.Line, namespace, config string) map[string]int64 {
	t.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config, Namespace: namespace}, Data: map[string]string{"a": "1", "b": "2"}}
	c, err := l.Kube.Client().CoreV1().ConfigMaps(namespace).Create(ctx, c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	generations := map[string]int64{}
	for name, left := range left(c) {
		created, err := l.Kube.Client().AppsV1().Deployments(namespace).Create(ctx, left.deployment(config+"-"+name, config), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		generations[created.Name] = created.Generation
	}
	return generations
}

func (x tool) deployment(name, config string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	container := corev1.Container{Name: "main", Image: "example.com/none", EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}},
	}}
	if x.env.Name != "" {
		container.Env = []corev1.EnvVar{x.env}
	}
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
