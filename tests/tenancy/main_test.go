package tenancy

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests, each of which has namespaces of its own there. Nothing acts on objects but Reroll, which is all that is tried.
var shared *line.Line

// warden is the token of a user who may do everything, to see what is on record.
var warden string

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
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=100ms", "--set", "api.auth=token"},
	})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	if warden, err = account(ctx, "default", "warden"); err != nil {
		return 1, err
	}
	_, err = shared.Kube.Kubectl(ctx, "create", "clusterrolebinding", "warden", "--clusterrole=cluster-admin", "--serviceaccount=default:warden")
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}
