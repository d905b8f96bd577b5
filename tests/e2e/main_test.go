package e2e

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests that neither stop it nor need other settings. Each test has its own namespace there.
var shared *line.Line

// window is the quiet window of the shared line.
const window = 300 * time.Millisecond

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{Kube: kube.Options{ControlPlaneOnly: true}, Flags: []string{"--set", "debounce.window=" + window.String()}}, nil)
}

// ownLine starts a line for one test, which may stop and break it.
func ownLine(t *testing.T, o line.Options) *line.Line {
	t.Helper()
	o.Kube.ControlPlaneOnly = true
	l, err := line.Start(t.Context(), o)
	line.Must(t, err)
	t.Cleanup(l.Stop)
	return l
}
