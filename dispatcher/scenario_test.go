package dispatcher_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/reroll-dev/reroll/tests/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScenarios runs every data file on the fake cluster.
func TestScenarios(t *testing.T) {
	all, err := scenario.Load(os.DirFS("../tests/scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		runWorld(t, s.Name, s.Settings, func(t *testing.T, w *world) {
			w.start()
			scenario.Run(t.Context(), t, s, w)
		})
	}
}
