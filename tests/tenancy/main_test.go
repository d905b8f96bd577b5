package tenancy

import (
	"context"
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
	line.Main(m, &shared, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=100ms", "--set", "api.auth=token"},
	}, func(ctx context.Context, l *line.Line) (err error) {
		if warden, err = account(ctx, "default", "warden"); err == nil {
			_, err = l.Kube.Kubectl(ctx, "create", "clusterrolebinding", "warden", "--clusterrole=cluster-admin", "--serviceaccount=default:warden")
		}
		return err
	})
}
