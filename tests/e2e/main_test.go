package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests that neither stop it nor need other settings. Each test has its own namespace there.
var shared *line.Line

// window is the quiet window of the shared line: long enough for three edits, short enough for many tests.
const window = 300 * time.Millisecond

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
		Kube:  kube.Options{ControlPlaneOnly: true},
		Flags: []string{"--set", "debounce.window=" + window.String()},
	})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	return m.Run(), nil
}
