package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// forwarding reaches the server through a cluster: the API of a Reroll in a cluster listens on the loopback of its pod.
type forwarding struct {
	kubeconfig, context, own string
	// end closes the forwarded port; nil if there is none.
	end func()
}

func (f *forwarding) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster through which the server is reached, unless --server is given")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig")
	flags.StringVar(&f.own, "reroll-namespace", "reroll", "Reroll's own namespace in that cluster")
}

// named reports whether a cluster is named by flags.
func (f *forwarding) named() bool { return f.kubeconfig != "" || f.context != "" }

// forward forwards a port of this machine to the server, and returns its address, HOST:PORT. It lasts until close.
func (f *forwarding) forward(ctx context.Context, agent string) (address string, err error) {
	address, f.end, err = kube.Forward(ctx, kube.Options{Kubeconfig: f.kubeconfig, Context: f.context, Namespace: f.own, UserAgent: agent})
	if err != nil {
		return "", fmt.Errorf("reach the server through the cluster: %w", err)
	}
	return address, nil
}

// close ends the forwarding, if there is one.
func (f *forwarding) close() {
	if f.end != nil {
		f.end()
		f.end = nil
	}
}
