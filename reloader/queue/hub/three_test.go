//go:build nightly

package hub_test

import (
	"os"
	"testing"

	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

func TestMain(m *testing.M) {
	if !natsserver.ServeMember() {
		os.Exit(m.Run())
	}
}

// TestIsolationOnThree is TestIsolation on a hub of three servers, each of which a member may be connected to.
func TestIsolationOnThree(t *testing.T) {
	c := natsserver.StartHubCluster(t, "c1", "c2", "c3")
	for _, stream := range hub.Streams {
		must(t, c.AskToStepDown(t.Context(), stream))
	}
	isolated(t, c.URL)
}
