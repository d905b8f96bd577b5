package dispatcher_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const kept scenario.Ref = "Secret/theirs/kept"

var keptConfig = reloader.Config{Kind: reloader.Secret, Namespace: "theirs", Name: "kept"}

// keep creates the Secret of another namespace, with these annotations.
func (w *world) keep(annotations string) {
	w.t.Helper()
	w.must(w.create(bob, object(w.t, fmt.Sprintf(`{kind: Secret, metadata: {name: kept, namespace: theirs, annotations: {%s}}, data: {a: MQ==}}`, annotations))))
}

// editKept gives it new content.
func (w *world) editKept(content string) {
	w.t.Helper()
	w.must(w.patch(bob, kept, "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"a":%q}}`, content)))
}

// annotateKept changes nothing but an annotation of it.
func (w *world) annotateKept(key, value string) {
	w.t.Helper()
	w.must(w.patch(alice, kept, "application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)))
}

// requestsFor collects the verbs of the requests for a config.
func (w *world) requestsFor(c reloader.Config, answer func(verb string) error) (verbs func() []string) {
	var mu sync.Mutex
	var seen []string
	w.failing(func(verb, ref string) error {
		if ref != c.String() {
			return nil
		}
		mu.Lock()
		seen = append(seen, verb)
		mu.Unlock()
		return answer(verb)
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func noAnswer(string) error { return nil }

// told is all that the record of a workload says at a moment, when it was written included.
func (w *world) told() string {
	r, _ := w.store.recordOf(webRef)
	r.UID, r.UpdatedAt = "", r.UpdatedAt.Truncate(time.Second)
	return string(encode(r))
}

// TestUnsharedIsAsAbsent: whatever becomes of a config of another namespace that is not shared, and whatever it says about itself, the workload that
// names it has the record of one that names a config which does not exist, written at the same times. Its content is not read, and no
// change of it is stored.
func TestUnsharedIsAsAbsent(t *testing.T) {
	nothing := func(*world) {}
	for dialect, annotations := range map[string]string{
		"reroll": `reroll.dev/secrets: theirs/kept`,
		"wave":   `wave.pusher.com/update-on-config-change: "true", wave.pusher.com/extra-secrets: theirs/kept`,
		"both":   `reroll.dev/secrets: theirs/kept, reroll.dev/keys: "b*", wave.pusher.com/update-on-config-change: "true", wave.pusher.com/extra-secrets: theirs/kept`,
	} {
		tells := func(before, first, second func(*world), answer func(string) error, reads bool) (all []string) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				verbs := w.requestsFor(keptConfig, answer)
				before(w)
				w.pass(time.Minute)
				w.deploy("web", annotations, "app")
				w.give("app", "1")
				w.start()
				note := func() {
					w.pass(20 * time.Second)
					all = append(all, w.told())
				}
				note()
				first(w)
				note()
				second(w)
				note()
				w.stop()
				w.start()
				note()
				w.rolled(web, 0)
				if got := w.store.reloadsOf(webRef); len(got) > 0 {
					t.Errorf("reloads are on record: %+v", got)
				}
				if slices.Contains(verbs(), "get") != reads {
					t.Errorf("requests: %q", verbs())
				}
				if _, types := w.store.changesOf(keptConfig); !reads && len(types) > 0 {
					t.Errorf("changes are on record: %v", types)
				}
			})
			return all
		}
		there := func(w *world) { w.keep("") }
		edit := func(w *world) { w.editKept("Mg==") }
		remove := func(w *world) { w.must(w.delete(bob, kept)) }
		want := tells(nothing, nothing, nothing, noAnswer, false)
		for name, got := range map[string][]string{
			"there":               tells(there, nothing, nothing, noAnswer, false),
			"edited":              tells(there, edit, func(w *world) { w.editKept("Mw==") }, noAnswer, false),
			"it ignores changes":  tells(func(w *world) { w.keep(`reroll.dev/ignore: "true"`) }, edit, remove, noAnswer, false),
			"shared with another": tells(there, func(w *world) { w.annotateKept("reroll.dev/share-with", "another") }, edit, noAnswer, false),
			"cannot be decrypted": tells(there, edit, nothing, func(string) error { return apierrors.NewInternalError(errors.New("no key")) }, false),
			"used in its own namespace": tells(func(w *world) {
				w.keep("")
				w.must(w.create(bob, object(w.t, `
kind: Deployment
metadata: {name: theirs, namespace: theirs, annotations: {`+auto+`}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{secretRef: {name: kept}}]}]}}}`)))
			}, edit, func(w *world) { w.editKept("Mw==") }, noAnswer, true),
		} {
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s, %s, moment %d: the record tells\n%s\nand if it is absent\n%s", dialect, name, i, got[i], want[i])
				}
			}
		}
	}
}

// TestConsent: what other namespaces share, or not.
func TestConsent(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"what is pending for a config that is not shared any more is not carried out, and not told": func(t *testing.T, w *world) {
			w.keep(`reroll.dev/share-with: "*"`)
			w.deploy("web", `reroll.dev/secrets: theirs/kept, reroll.dev/window: 1m`, "app")
			w.give("app", "1")
			w.settled()
			w.editKept("Mg==")
			w.pass(30 * time.Second)
			w.annotateKept("reroll.dev/share-with", "another")
			w.pass(5 * time.Minute)
			w.rolled(web, 0)
			if got := w.store.reloadsOf(webRef); len(got) > 0 {
				t.Errorf("reloads are on record: %+v", got)
			}
			if r, _ := w.store.recordOf(webRef); r.Hold != nil || r.Edges[0].Pending != "" || r.Edges[0].Why != reloader.ReasonNotShared {
				t.Errorf("the record says %+v", r)
			}
		},
	})
}
