package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestKeyedMarkOutlivesItsKey: a mark that was made under a digest key which is there no more says nothing, so that it rolls nothing; and what
// changes after that rolls once.
func TestKeyedMarkOutlivesItsKey(t *testing.T) {
	for name, c := range map[string]struct {
		keys   []digest.Key
		forget bool
	}{
		"the key is lost":                       {keys: []digest.Key{key(2)}},
		"the key and the state are lost":        {keys: []digest.Key{key(2)}, forget: true},
		"the key is rotated":                    {keys: []digest.Key{key(2), key(1)}},
		"the key is rotated and the state lost": {keys: []digest.Key{key(2), key(1)}, forget: true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.give("app", "1")
				w.deploy("web", sapLists, "app")
				w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.rolled(web, 1)
				before := w.templateAnnotation(mark.SAPHashKey)
				w.stop()
				if c.forget {
					w.forget()
				}
				// Whoever wrote the data owns it also after a label of theirs, so that the times of pods prove nothing.
				w.must(w.patch(alice, app, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"a"}}}`)))
				w.stream.forget()
				w.keys = c.keys
				for range 2 {
					w.start()
					w.pass(time.Hour)
					w.rolled(web, 1)
					w.stop()
				}
				if now := w.templateAnnotation(mark.SAPHashKey); now != before {
					t.Errorf("the mark %s became %s", before, now)
				}
				w.start()
				w.edit(alice, app, "3")
				w.pass(quiet)
				w.rolled(web, 2)
				w.forget()
				w.start()
				w.pass(quiet)
				w.rolled(web, 2)
			})
		})
	}
}

// TestKeyRotatedAndStateLost: of several configs, a mark under the key before proves after a rotation that nothing was missed, also to a process
// that knows nothing else; what was missed is rolled, once. Part of the digests that are on record may be of either key.
func TestKeyRotatedAndStateLost(t *testing.T) {
	const more = "ConfigMap/more"
	for _, lists := range []string{`pod-reloader.cs.sap.com/configmaps: "app,more"`, `wave.pusher.com/update-on-config-change: "true", wave.pusher.com/extra-configmaps: "more"`} {
		for name, c := range map[string]struct{ forget, missed bool }{
			"nothing is lost":                     {},
			"the state is lost":                   {forget: true},
			"something is missed":                 {missed: true},
			"something is missed, and state lost": {forget: true, missed: true},
		} {
			t.Run(lists[:4]+" "+name, func(t *testing.T) {
				inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
					w.give("app", "1")
					w.give("more", "1")
					w.deploy("web", lists, "app")
					w.start()
					w.pass(quiet)
					w.edit(alice, app, "2")
					w.pass(quiet)
					w.rolled(web, 1)
					w.stop()
					if c.forget {
						w.forget()
					}
					want := int64(1)
					if c.missed {
						w.edit(alice, more, "2")
						want++
					}
					w.must(w.patch(alice, app, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"a"}}}`)))
					w.stream.forget()
					w.keys = []digest.Key{key(2), key(1)}
					w.start()
					w.pass(time.Hour)
					w.rolled(web, want)
					w.edit(alice, app, "3")
					w.pass(quiet)
					w.rolled(web, want+1)
					w.forget()
					w.start()
					w.pass(time.Hour)
					w.rolled(web, want+1)
				})
			})
		}
	}
}
