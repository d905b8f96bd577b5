package migrate_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests: a whole cluster, and a reroll process that stands for the pod of the chart.
var shared *line.Line

const (
	// suiteTime bounds the whole, and stepTime one wait.
	suiteTime = 20 * time.Minute
	stepTime  = 2 * time.Minute
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
	shared, err = line.Start(ctx, line.Options{Kube: kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}}})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	// Each test starts it as its chart says.
	if err := shared.Reroll.Terminate(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
