package migrate_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// release is where the guide installs the chart.
const release = "reroll"

// pod is the rig's reroll process, which stands for the pod of the chart, that nothing here runs: it has the flags and the environment
// of the pod, and its rights.
type pod struct {
	kubeconfig, dataDir string
}

// pods counts them, so that each has a store of its own.
var pods int

func newPod(t *testing.T) *pod {
	t.Helper()
	account := "system:serviceaccount:" + release + ":" + release
	kubeconfig, err := shared.Kube.UserKubeconfig(account, "system:serviceaccounts", "system:serviceaccounts:"+release)
	if err != nil {
		t.Fatal(err)
	}
	pods++
	return &pod{kubeconfig: kubeconfig, dataDir: fmt.Sprintf("%s-%d", shared.DataDir(), pods)}
}

// elsewhere are flags about files and addresses, which the rig's process has its own of.
var elsewhere = []string{"--ingest-", "--set=ingest.", "--components=", "--config=", "--data-dir=", "--api-address=", "--metrics-address="}

// restart ends the process, and starts it as the chart's StatefulSet says now.
func (p *pod) restart(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	set, err := shared.Kube.Client().AppsV1().StatefulSets(release).Get(ctx, release, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Reroll.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	container := set.Spec.Template.Spec.Containers[0]
	config, err := shared.Kube.Client().CoreV1().ConfigMaps(release).Get(ctx, release, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.config(), []byte(config.Data["reroll.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	shared.Reroll.SetEnvironment(environment(container))
	if err := shared.Reroll.Start(p.flags(container)...); err != nil {
		t.Fatal(err)
	}
	if err := shared.Reroll.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
}

// config is the file of the settings that the chart has in a ConfigMap.
func (p *pod) config() string { return p.dataDir + ".yaml" }

// flags are those of a container, as far as they hold here, and its rights.
func (p *pod) flags(container corev1.Container) []string {
	flags := []string{"--config=" + p.config(), "--data-dir=" + p.dataDir, "--kubeconfig=" + p.kubeconfig, "--set=namespace=" + release}
	for _, arg := range container.Args[1:] {
		if !slices.ContainsFunc(elsewhere, func(flag string) bool { return strings.HasPrefix(arg, flag) }) {
			flags = append(flags, arg)
		}
	}
	return flags
}

// environment is that of a container.
func environment(container corev1.Container) []string {
	fields := map[string]string{"metadata.name": release + "-0", "metadata.namespace": release}
	var variables []string
	for _, v := range container.Env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			value = fields[v.ValueFrom.FieldRef.FieldPath]
		}
		variables = append(variables, v.Name+"="+value)
	}
	return variables
}
