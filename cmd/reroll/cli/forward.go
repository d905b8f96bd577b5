package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// forwarding goes through a cluster to the server, with kubectl: the API of a Reroll in a cluster listens on the loopback of its pod.
type forwarding struct {
	kubeconfig, context, own, to string
	// always says that the cluster of the usual kubeconfig is gone through if none is named.
	always bool
	// end ends what forward began; nil if nothing.
	end func()
}

func (f *forwarding) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; with it, or with --context, the server is reached through that cluster by kubectl port-forward, unless --server is given")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig")
	flags.StringVar(&f.own, "reroll-namespace", "reroll", "Reroll's own namespace in that cluster")
	flags.StringVar(&f.to, "forward-to", "statefulset/reroll:8080", "what has the API in that namespace, TYPE/NAME:PORT")
}

// wanted reports whether a cluster is gone through.
func (f *forwarding) wanted() bool { return f.always || f.kubeconfig != "" || f.context != "" }

// forwarded is what kubectl says when it forwards.
var forwarded = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:[0-9]+) -> `)

const (
	// forwardTime bounds the wait until kubectl forwards.
	forwardTime = 20 * time.Second
	// farewell is how long kubectl may take to end once it is asked to.
	farewell = 2 * time.Second
)

// forward has kubectl forward a port of this machine to the server, and returns the near end, HOST:PORT. It lasts until close.
func (f *forwarding) forward(ctx context.Context) (near string, err error) {
	resource, port, found := strings.Cut(f.to, ":")
	if !found || !strings.Contains(resource, "/") {
		return "", Usage(fmt.Errorf("--forward-to: %q is not TYPE/NAME:PORT", f.to))
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "kubectl", f.arguments(resource, port)...)
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill() // Windows sends no signals
		}
		return nil
	}
	cmd.WaitDelay = farewell
	var complaint bytes.Buffer
	out := &lookout{line: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = out, &complaint
	if err := cmd.Start(); err != nil {
		cancel()
		return "", fmt.Errorf("reach the server through the cluster: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what it complains of is told below
		close(ended)
	}()
	f.end = func() {
		cancel()
		<-ended
	}
	select {
	case line := <-out.line:
		if at := forwarded.FindStringSubmatch(line); at != nil {
			return at[1], nil
		}
	case <-ended:
	case <-time.After(forwardTime):
	}
	f.close()
	return "", fmt.Errorf("reach the server through the cluster: kubectl port-forward does not forward: %s", strings.TrimSpace(complaint.String()))
}

// lookout hands on the first line that is written to it, and forgets all others: kubectl writes one for each connection.
type lookout struct {
	line  chan string
	begun bytes.Buffer
	done  bool
}

// Write takes what is written, and never fails.
func (l *lookout) Write(p []byte) (int, error) {
	if l.done {
		return len(p), nil
	}
	l.begun.Write(p)
	if line, _, complete := strings.Cut(l.begun.String(), "\n"); complete {
		l.done = true
		l.line <- line
	}
	return len(p), nil
}

func (f *forwarding) arguments(resource, port string) []string {
	args := []string{"port-forward", "--address=127.0.0.1", "--namespace=" + f.own, resource, ":" + port}
	if f.context != "" {
		args = append([]string{"--context=" + f.context}, args...)
	}
	if f.kubeconfig != "" {
		args = append([]string{"--kubeconfig=" + f.kubeconfig}, args...)
	}
	return args
}

// close ends the forwarding, if there is one.
func (f *forwarding) close() {
	if f.end != nil {
		f.end()
		f.end = nil
	}
}
