package install_test

import (
	"context"
	"testing"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// startPod starts the process that stands for the pod of the chart's StatefulSet, and returns it with the address of its ingest, when it is ready.
func startPod(ctx context.Context, t *testing.T, cluster *kube.Cluster) (r *line.Reroll, ingest string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pod, kubeconfig, err := line.LivePod(ctx, cluster, "reroll", "reroll", t.TempDir())
	must(err)
	arguments, err := pod.Arguments()
	must(err)
	addresses, err := port.Addresses(1)
	must(err)
	r, err = line.NewProcess(ctx, pod.Environment(), append(arguments, "--kubeconfig="+kubeconfig, "--ingest-address="+addresses[0])...)
	must(err)
	must(r.Start())
	t.Cleanup(r.Kill)
	must(r.WaitReady(ctx))
	return r, addresses[0]
}
