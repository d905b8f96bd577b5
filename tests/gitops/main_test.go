package gitops

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests.
var shared *line.Line

const (
	// suiteTime bounds the whole, and stepTime one wait.
	suiteTime = 15 * time.Minute
	stepTime  = time.Minute
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
	defer cancel()
	var err error
	shared, err = line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", "0s", "--is-Argo-Rollouts", "true"},
	})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	if _, err := shared.Kube.Kubectl(ctx, "apply", "--filename=../testdata/crds/rollouts.argoproj.io.yaml"); err != nil {
		return 1, err
	}
	if _, err := shared.Kube.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/rollouts.argoproj.io"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
