package dispatcher_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/conformance/tools"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// stoppable is a world whose dispatcher can be stopped and started by a scenario.
type stoppable struct{ *world }

// Stop ends every dispatcher.
func (s stoppable) Stop(context.Context) error {
	s.stop()
	return nil
}

// Start runs one.
func (s stoppable) Start(context.Context) error {
	s.start()
	return nil
}

// TestToolScenarios runs the cases of the conformance suites of the tools on the fake cluster.
func TestToolScenarios(t *testing.T) {
	cases, err := tools.Cases("../tests/conformance")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			inWorld(t, c.Settings, func(t *testing.T, w *world) {
				w.dialects = func(s dialect.Set) dialect.Set { return told(s, c.Flags) }
				if slices.Contains(c.Flags, "--coalesce-window=2s") {
					w.configure = func(o *dispatcher.Options) { o.Window, o.MaxWait = 2*time.Second, 10*time.Second }
				}
				w.start()
				scenario.Run(t.Context(), t, c.Scenario, stoppable{w})
			})
		})
	}
}

// told returns dialects as the flags of a case have them.
func told(s dialect.Set, flags []string) dialect.Set {
	var collaborne dialect.CollaborneOptions
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--sap-versions":
			s = s.With(dialect.SAPOfVersions())
		case "--alternative-configmap-annotation":
			collaborne.ConfigMap = value
		case "--collaborne-state":
			collaborne.State = value
		}
	}
	return s.With(dialect.Collaborne(collaborne))
}
