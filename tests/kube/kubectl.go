package kube

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Command returns a command that runs kubectl with args as a user who may do everything. The caller may give it more environment and a
// standard input, and runs it.
func (c *Cluster) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.binaries.Path(Kubectl), args...)
	// HOME is where kubectl keeps its cache of what the API server can do.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "HOME="+c.dir)
	return cmd
}

// Kubectl runs kubectl with args as a user who may do everything and returns its standard output. An error carries what it wrote to
// its standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := c.Command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return string(output), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(output), nil
}

// WaitRollout waits until the newest template of a Deployment, StatefulSet or DaemonSet runs in all its pods and no others are left, or
// until ctx ends. An error carries how far it was.
func (c *Cluster) WaitRollout(ctx context.Context, namespace, kind, name string) error {
	output, err := c.Kubectl(ctx, "rollout", "status", "--namespace="+namespace, kind+"/"+name)
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(output))
	}
	return nil
}

// Metric returns the sum of the API server's samples of a metric that have all the labels, each given as `name="value"`; 0 if there
// are none.
func (c *Cluster) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	text, err := c.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return SumSamples(string(text), name, labels)
}

// SumSamples adds up the samples of a metric that have all labels in text, which is in the Prometheus text
// format without times.
func SumSamples(text, name string, labels []string) (float64, error) {
	sum := 0.0
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(rest, l) }) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, '}')+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("read a sample of %s: %w", name, err)
		}
		sum += value
	}
	return sum, nil
}
