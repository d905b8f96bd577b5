package migrate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests: a whole cluster, and a reroll process that stands for the pod of the chart.
var shared *line.Line

// TestMain ends Reroll before the tests: each starts it as its chart says.
func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{Kube: kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}}}, func(ctx context.Context, l *line.Line) error {
		return l.Reroll.Terminate(ctx)
	})
}

// release is where the guide installs the chart.
const release = "reroll"

// elsewhere are flags about files and addresses, which the rig's process has its own of.
var elsewhere = []string{"--ingest-", "--set=ingest.", "--components=", "--api-address=", "--metrics-address="}

// restart ends the rig's process, which stands for the pod of the chart, and starts it as the chart's StatefulSet says now, with files in a folder.
func restart(t *testing.T, dir string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		line.Must(t, err)
	}
	pod, kubeconfig, err := line.LivePod(t.Context(), shared.Kube, release, release, dir)
	must(err)
	arguments, err := pod.Arguments()
	must(err)
	must(shared.Reroll.Terminate(t.Context()))
	shared.Reroll.SetEnvironment(pod.Environment())
	arguments = slices.DeleteFunc(arguments[1:], func(argument string) bool {
		return slices.ContainsFunc(elsewhere, func(flag string) bool { return strings.HasPrefix(argument, flag) })
	})
	must(shared.Reroll.Start(append(arguments, "--kubeconfig="+kubeconfig, "--set=namespace="+release)...))
	must(shared.Reroll.WaitReady(t.Context()))
}
