package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestNeeds: the changes of a config are needed as long as a workload depends on it, be it one of a kind that is not served now, and not after that.
func TestNeeds(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		unused := reloader.Config{Kind: reloader.ConfigMap, Namespace: scenario.DefaultNamespace, Name: "unused"}
		check := func(when string, p *dispatcher.Dispatcher, app, other bool) {
			t.Helper()
			if p.Needs(appConfig) != app || p.Needs(unused) != other {
				t.Errorf("%s: needs the config in use: %t, and the other: %t; want %t and %t", when, p.Needs(appConfig), p.Needs(unused), app, other)
			}
		}
		w.usual()
		w.give("unused", "1")
		p := w.start().Dispatcher
		check("with a workload", p, true, false)

		w.stop()
		w.serve(nil, "Deployment")
		again := w.start()
		p = again.Dispatcher
		w.pass(10 * time.Minute)
		check("while its kind is away", p, true, false)
		w.serve(again, "")
		w.pass(10 * time.Minute)
		w.must(w.delete(alice, "Deployment/web"))
		w.pass(quiet)
		check("when the workload is gone", p, false, false)
	})
}
