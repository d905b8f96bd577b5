package kube

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
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
