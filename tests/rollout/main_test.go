package rollout

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests, each of which has a namespace of its own there.
var shared *line.Line

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var err error
	shared, err = line.Start(ctx, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", "100ms", "--halt-on-failed-rollouts"},
	})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	return m.Run(), nil
}
