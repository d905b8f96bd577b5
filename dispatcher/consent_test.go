package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const kept scenario.Ref = "Secret/theirs/kept"

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

func noAnswer(string) error { return nil }

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
