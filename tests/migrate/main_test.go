package migrate_test

import (
	"context"
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
