package rollout

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests, each of which has a namespace of its own there.
var shared *line.Line

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=100ms", "--set=rolloutLimits.haltOnFailure=true"},
	}, nil)
}
