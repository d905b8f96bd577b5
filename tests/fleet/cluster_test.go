package fleet

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the program to its end.
func run(ctx context.Context, arguments ...string) (string, error) {
	binary, err := line.Build(ctx)
	if err != nil {
		return "", err
	}
	output, err := exec.CommandContext(ctx, binary, arguments...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("reroll %v: %w: %s", arguments, err, output)
	}
	return string(output), err
}

const namespace = "default"

// cluster is one cluster of the fleet.
type cluster struct {
	*line.Line
	t    *testing.T
	name string
	link *port.Link
	// probes counts the edits of the sentinel.
	probes int64
}

func startCluster(ctx context.Context, t *testing.T, name string, h *hub) *cluster {
	t.Helper()
	c := &cluster{t: t, name: name, link: &port.Link{}}
	t.Cleanup(c.link.Stop)
	var urls []string
	for _, address := range h.Addresses {
		at, err := c.link.Carry("127.0.0.1:0", address)
		must(t, err)
		urls = append(urls, "nats://"+at)
	}
	var err error
	c.Line, err = line.Start(ctx, line.Options{
		Cluster: name, Kube: kube.Options{ControlPlaneOnly: true},
		Flags: append([]string{"--set", "debounce.window=200ms", "--set", "hub.url=" + strings.Join(urls, ",")}, login(t, "hub", name)...),
	})
	must(t, err)
	t.Cleanup(c.Stop)
	c.deploy(ctx, "sentinel", map[string]string{"reloader.stakater.com/auto": "true"})
	return c
}

// give creates a ConfigMap, or gives it another value.
func (c *cluster) give(ctx context.Context, name, value string, annotations map[string]string) error {
	maps := c.Kube.Client().CoreV1().ConfigMaps(namespace)
	_, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Data: map[string]string{"value": value},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"value":%q}}`, value), metav1.PatchOptions{})
	}
	return err
}

// deploy creates a ConfigMap and a Deployment of the same name that refers to it, and waits for its baseline.
func (c *cluster) deploy(ctx context.Context, name string, annotations map[string]string) {
	c.t.Helper()
	c.create(ctx, name, annotations)
	must(c.t, line.Poll(ctx, func(ctx context.Context) error { return c.settled(ctx, name) }))
}

// create creates a ConfigMap and a Deployment of the same name that refers to it.
func (c *cluster) create(ctx context.Context, name string, annotations map[string]string) {
	c.t.Helper()
	must(c.t, c.give(ctx, name, "0", nil))
	_, err := c.Kube.Client().AppsV1().Deployments(namespace).Create(ctx, line.Deployment(namespace, name, annotations, line.FromConfigMap(name)), metav1.CreateOptions{})
	must(c.t, err)
}

// settled returns nil if every dependency of a Deployment has a baseline.
func (c *cluster) settled(ctx context.Context, name string) error {
	var w struct {
		Dependencies []struct {
			Handled *struct{} `json:"handled"`
		} `json:"dependencies"`
	}
	if err := c.Reroll.Get(ctx, "/api/v1/workloads/"+c.name+"/"+namespace+"/Deployment/"+name, &w); err != nil {
		return err
	}
	for _, d := range w.Dependencies {
		if d.Handled == nil {
			return fmt.Errorf("%s in %s lacks a baseline", name, c.name)
		}
	}
	if len(w.Dependencies) == 0 {
		return fmt.Errorf("%s in %s depends on nothing", name, c.name)
	}
	return nil
}

// rolls returns how often the template of a Deployment was changed: nobody but Reroll writes its spec.
func (c *cluster) rolls(ctx context.Context, name string) int64 {
	c.t.Helper()
	d, err := c.Kube.Client().AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	must(c.t, err)
	return d.Generation - 1
}

func (c *cluster) waitRolls(ctx context.Context, name string, n int64) {
	c.t.Helper()
	must(c.t, line.Poll(ctx, func(ctx context.Context) error {
		d, err := c.Kube.Client().AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && d.Generation-1 < n {
			err = fmt.Errorf("%s in %s rolled %d times, not %d", name, c.name, d.Generation-1, n)
		}
		return err
	}))
}

// probe edits the config of the sentinel, and waits for the roll.
func (c *cluster) probe(ctx context.Context) {
	c.t.Helper()
	c.probes++
	must(c.t, c.give(ctx, "sentinel", fmt.Sprint(c.probes), nil))
	c.waitRolls(ctx, "sentinel", c.probes)
}

// quiesce waits until what was edited so far has been dealt with.
func (c *cluster) quiesce(ctx context.Context) {
	c.t.Helper()
	c.probe(ctx)
	c.probe(ctx)
}
