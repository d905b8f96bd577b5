package dispatcher_test

import (
	"errors"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/tests/scenario"
)

var errLost = errors.New("connection lost")

// TestCrashBetweenPatchAndRecord: the successor patches nothing and completes the record.
func TestCrashBetweenPatchAndRecord(t *testing.T) {
	for _, strategy := range []string{"env-vars", "annotations"} {
		runWorld(t, strategy, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
			w.usually()
			w.store.lose(nil, errLost)
			w.edit(alice, app, "2")
			w.pass(time.Second)
			w.rolled(web, 1)
			w.stop()
			w.store.lose(nil, nil)
			if n := len(w.store.reloadsOf(webRef)); n != 0 {
				t.Fatalf("%d reloads are recorded before the restart, want 0", n)
			}
			w.settled()
			w.rolled(web, 1)
			reloads := w.store.reloadsOf(webRef)
			if len(reloads) != 1 || reloads[0].Outcome != reloader.ReasonReloaded || reloads[0].Causes[0].Config != appConfig {
				t.Errorf("reloads after the restart: %+v", reloads)
			}
			record, _ := w.store.recordOf(webRef)
			if record.LastReload != reloads[0].ID || record.Edges[0].Pending != "" {
				t.Errorf("record after the restart: %+v", record)
			}
			w.edited("3", 2)
		})
	}
}

// markers are workloads each of which is marked by another form: a variable, an annotation of its own, and one for several configs together.
var markers = map[string]string{
	"reroll":   `reroll.dev/auto: "true"`,
	"stakater": `reloader.stakater.com/auto: "true"`,
	"wave":     `wave.pusher.com/update-on-config-change: "true"`,
	"trigger":  `trigger.k8s.io/triggering-configMaps: app`,
}

// TestKeyRotated: whatever is lost with that, a new digest key rolls nothing. A change that was missed meanwhile rolls once, also back to what was
// there before, and so does the next one; but not if nobody has the old key any more (exception X3).
func TestKeyRotated(t *testing.T) {
	for name, c := range map[string]struct {
		forget, keyLost bool
		missed          int64
	}{"nothing else": {missed: 1}, "the history is lost": {forget: true, missed: 1}, "the key is lost": {keyLost: true}} {
		for tool, annotations := range markers {
			runWorld(t, name+"/"+tool, scenario.Settings{}, func(t *testing.T, w *world) {
				w.give("app", "1")
				w.deploy("web", annotations, "app")
				w.settled()
				w.edited("2", 1)
				restart := func() {
					w.stop()
					if c.forget {
						w.forget()
					}
					w.stream.forget()
				}
				restart()
				w.keys = []digest.Key{key(2), key(1)}[:map[bool]int{true: 1, false: 2}[c.keyLost]]
				if !c.keyLost {
					w.start()
					w.pass(time.Hour)
					w.rolled(web, 1)
					restart()
				}
				w.edit(alice, app, "1") // while nobody looks
				w.start()
				w.pass(time.Hour)
				w.rolled(web, 1+c.missed)
				w.edited("3", 2+c.missed)
			})
		}
	}
}
