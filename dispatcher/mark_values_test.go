package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/dialect"
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

// TestMarkValuesAreSwitched: whoever chooses the other kind of marks, and whatever is lost or rotated with that, rolls nothing. A change that was
// missed meanwhile rolls once, also back to what was there before, and so does the next one.
func TestMarkValuesAreSwitched(t *testing.T) {
	keyed := func(s dialect.Set) dialect.Set { return s.Keyed() }
	asIs := func(s dialect.Set) dialect.Set { return s }
	for name, c := range map[string]struct {
		before, after func(dialect.Set) dialect.Set
		keys          []digest.Key
		forget        bool
	}{
		"to keyed":                              {before: asIs, after: keyed, keys: []digest.Key{key(1)}},
		"to keyed, and the state is lost":       {before: asIs, after: keyed, keys: []digest.Key{key(1)}, forget: true},
		"back":                                  {before: keyed, after: asIs, keys: []digest.Key{key(1)}},
		"back, and the state is lost":           {before: keyed, after: asIs, keys: []digest.Key{key(1)}, forget: true},
		"the key is rotated":                    {before: keyed, after: keyed, keys: []digest.Key{key(2), key(1)}},
		"the key is rotated and the state lost": {before: keyed, after: keyed, keys: []digest.Key{key(2), key(1)}, forget: true},
		"back, with another key":                {before: keyed, after: asIs, keys: []digest.Key{key(2), key(1)}, forget: true},
	} {
		for tool, annotations := range markers {
			t.Run(name+"/"+tool, func(t *testing.T) {
				inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
					w.dialects = c.before
					w.give("app", "1")
					w.deploy("web", annotations, "app")
					w.start()
					w.pass(quiet)
					w.edit(alice, app, "2")
					w.pass(quiet)
					w.rolled(web, 1)
					restart := func() {
						w.stop()
						if c.forget {
							w.forget()
						}
						w.stream.forget()
					}
					restart()
					w.keys, w.dialects = c.keys, c.after
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
					w.edit(alice, app, "3")
					w.pass(quiet)
					w.rolled(web, 3)
				})
			})
		}
	}
}

// TestKeyedMarksOutliveTheirKey: once the key of keyed marks is lost they prove nothing, so that nothing rolls; and what changes after that rolls once.
func TestKeyedMarksOutliveTheirKey(t *testing.T) {
	for tool, annotations := range markers {
		t.Run(tool, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.dialects = func(s dialect.Set) dialect.Set { return s.Keyed() }
				w.give("app", "1")
				w.deploy("web", annotations, "app")
				w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.rolled(web, 1)
				w.forget()
				w.stream.forget()
				w.keys = []digest.Key{key(2)}
				w.start()
				w.pass(time.Hour)
				w.rolled(web, 1)
				w.edit(alice, app, "3")
				w.pass(quiet)
				w.rolled(web, 2)
			})
		})
	}
}
