package fleet

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

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

// cluster is one cluster of the fleet, and the namespace of all its objects.
type cluster struct {
	*line.Room
	name string
	link *port.Link
	// probes counts the edits of the sentinel.
	probes int
}

func startCluster(ctx context.Context, t *testing.T, name string, h *hub) *cluster {
	t.Helper()
	c := &cluster{name: name, link: &port.Link{}}
	t.Cleanup(c.link.Stop)
	var urls []string
	for _, address := range h.Addresses {
		at, err := c.link.Carry("127.0.0.1:0", address)
		line.Must(t, err)
		urls = append(urls, "nats://"+at)
	}
	l, err := line.Start(ctx, line.Options{
		Cluster: name, Kube: kube.Options{ControlPlaneOnly: true},
		Flags: append([]string{"--set", "debounce.window=200ms", "--set", "hub.url=" + strings.Join(urls, ",")}, login(t, "hub", name)...),
	})
	line.Must(t, err)
	t.Cleanup(l.Stop)
	c.Room = &line.Room{T: t, Line: l, NS: namespace}
	c.deploy("sentinel", map[string]string{"reloader.stakater.com/auto": "true"})
	return c
}

// deploy creates a Deployment that refers to a ConfigMap of the same name, which it creates unless it is there, and waits for its baseline.
func (c *cluster) deploy(name string, annotations map[string]string) {
	c.T.Helper()
	if _, err := c.Client().CoreV1().ConfigMaps(namespace).Get(c.Ctx(), name, metav1.GetOptions{}); err != nil {
		c.Config(name, "0")
	}
	c.Deploy(name, annotations, line.FromConfigMap(name))
	c.Await("the baselines of "+name, func(ctx context.Context) error {
		var w struct {
			Dependencies []struct{ How string }
		}
		err := c.Line.Reroll.Get(ctx, c.path(name), &w)
		if err == nil && (len(w.Dependencies) == 0 || slices.ContainsFunc(w.Dependencies, func(d struct{ How string }) bool { return d.How == "" })) {
			err = fmt.Errorf("%+v", w)
		}
		return err
	})
}

// path is where the API of the cluster has a Deployment.
func (c *cluster) path(deployment string) string {
	return "/api/v1/workloads/" + c.name + "/" + namespace + "/Deployment/" + deployment
}

func (c *cluster) waitRolls(name string, n int) {
	c.T.Helper()
	c.Await(fmt.Sprintf("%d rolls of %s in %s", n, name, c.name), func(context.Context) error {
		if got := c.Rolls(name); got < n {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
}

// probe edits the config of the sentinel, and waits for the roll.
func (c *cluster) probe() {
	c.T.Helper()
	c.probes++
	c.Edit("sentinel", fmt.Sprint(c.probes))
	c.waitRolls("sentinel", c.probes)
}
