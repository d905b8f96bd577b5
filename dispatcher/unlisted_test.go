package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// Secrets may be read, and not listed, so that nobody finds those that a pattern matches before something happens to them.

const (
	part1 scenario.Ref = "Secret/part-1"
	parts string       = `secret.reloader.stakater.com/reload: "part-.*"`
)

// unlisted creates a Secret, of which no hint is left, and a Deployment with a pattern that matches it, and has nobody list Secrets.
func (w *world) unlisted(container string) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, `{kind: Secret, metadata: {name: part-1}, data: {a: MQ==}}`)))
	w.pass(time.Minute)
	w.stream.forget()
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {containers: [%s]}}}`, parts, container))))
	w.failing(func(verb, ref string) error {
		if verb == "list" && ref == "Secret/"+scenario.DefaultNamespace {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)
		}
		return nil
	})
}

// labels has by write a label of a config.
func (w *world) labels(by reloader.Actor, ref scenario.Ref) {
	w.t.Helper()
	w.must(w.patch(by, ref, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"at":%q}}}`, time.Now().Format("150405"))))
}

// TestUnlistedButReferenced: what the pod template names is known without a list, so that the first label of it is none but a label.
func TestUnlistedButReferenced(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.unlisted(`{name: main, envFrom: [{secretRef: {name: part-1}}]}`)
		w.settled()
		w.labels(alice, part1)
		w.rolls(0)
		w.must(w.patch(bob, part1, types.MergePatchType, []byte(`{"data":{"a":"Mg=="}}`)))
		w.rolls(1)
	})
}

// TestFirstHintAboutTheUnlisted: the content of before is not known, and what was written is told as far as the managed fields do.
func TestFirstHintAboutTheUnlisted(t *testing.T) {
	tests := map[string]struct {
		reason string
		act    func(w *world)
		rolls  int64
	}{
		"the content, by who writes nothing else": {
			"their time is that of the content",
			func(w *world) { w.must(w.patch(alice, part1, types.MergePatchType, []byte(`{"data":{"a":"Mg=="}}`))) }, 1,
		},
		"a label, by another": {
			"the content was written before", func(w *world) { w.labels(bob, part1) }, 0,
		},
		"a label, by who wrote the content": {"nobody can tell", func(w *world) { w.labels(alice, part1) }, 1},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.unlisted(`{name: main}`)
			w.settled()
			test.act(w)
			w.pass(quiet)
			if g := w.revision(web); g != test.rolls+1 {
				t.Errorf("%d template changes, want %d: %s", g-1, test.rolls, test.reason)
			}
			w.labels(alice, part1)
			w.pass(quiet)
			if g := w.revision(web); g != test.rolls+1 {
				t.Errorf("%d template changes after a second label, want %d: the content is known by then", g-1, test.rolls)
			}
		})
	}
}
