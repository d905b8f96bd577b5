package providerclass

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests. Each has its own namespace there.
var shared *line.Line

// window is the quiet window of the line: long enough for three updates, also on a busy machine.
const window = 3 * time.Second

// crds has the driver's resources among others.
const crds = "../testdata/crds/"

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	var err error
	shared, err = line.Start(ctx, line.Options{
		// A process that was stopped is told again of what it missed.
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--enable-csi-integration", "--set", "debounce.window=" + window.String()},
	})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	// The driver is installed while Reroll runs.
	if err := installDriver(ctx, shared); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// installDriver installs the resources of the driver.
func installDriver(ctx context.Context, l *line.Line) error {
	for _, resource := range []string{"secretproviderclasses", "secretproviderclasspodstatuses"} {
		name := resource + ".secrets-store.csi.x-k8s.io"
		if _, err := l.Kube.Kubectl(ctx, "apply", "-f", crds+name+".yaml"); err != nil {
			return err
		}
		if _, err := l.Kube.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/"+name); err != nil {
			return err
		}
	}
	return nil
}
