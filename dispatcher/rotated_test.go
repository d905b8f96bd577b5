package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// markers are workloads each of which is marked by another form: a variable, an annotation of its own, and one for several configs together.
var markers = map[string]string{
	"reroll":   `reroll.dev/auto: "true"`,
	"stakater": `reloader.stakater.com/auto: "true"`,
	"wave":     `wave.pusher.com/update-on-config-change: "true"`,
	"trigger":  `trigger.k8s.io/triggering-configMaps: app`,
}

// TestKeyIsRotatedWhileDown: whatever is lost with that, it rolls nothing. A change that was missed meanwhile rolls once, also back to what was there
// before, and so does the next one.
func TestKeyIsRotatedWhileDown(t *testing.T) {
	for name, forget := range map[string]bool{"nothing else": false, "and the state is lost": true} {
		for tool, annotations := range markers {
			runWorld(t, name+"/"+tool, scenario.Settings{}, func(t *testing.T, w *world) {
				w.give("app", "1")
				w.deploy("web", annotations, "app")
				w.settled()
				w.edited("2", 1)
				restart := func() {
					w.stop()
					if forget {
						w.forget()
					}
					w.stream.forget()
				}
				restart()
				w.keys = []digest.Key{key(2), key(1)}
				for range 2 {
					w.start()
					w.pass(time.Hour)
					w.rolled(web, 1)
					restart()
				}
				w.edit(alice, app, "1") // while nobody looks
				w.start()
				w.pass(time.Hour)
				w.rolled(web, 2)
				w.edited("3", 3)
			})
		}
	}
}
