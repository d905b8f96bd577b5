package dispatcher_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// absences has dispatchers roll for creation, deletion or both.
func absences(onCreate, onDelete bool) func(*dispatcher.Options) {
	return func(o *dispatcher.Options) { o.ReloadOnCreate, o.ReloadOnDelete = onCreate, onDelete }
}

const appVariable = "STAKATER_APP_CONFIGMAP"

// mark returns the value of the mark for the ConfigMap app in the template of web.
func (w *world) mark() (string, bool) {
	w.t.Helper()
	template, err := w.Template(w.t.Context(), web)
	w.must(err)
	for _, e := range template.Spec.Containers[0].Env {
		if e.Name == appVariable {
			return e.Value, true
		}
	}
	return "", false
}

// TestAbsence: what the creation and the deletion of a config roll.
func TestAbsence(t *testing.T) {
	gone := func(w *world) { w.must(w.delete(alice, app)) }
	each(t, scenario.Settings{}, worlds{
		"creations roll": func(_ *testing.T, w *world) {
			w.configure = absences(true, false)
			w.deploy("web", auto, "app")
			w.settled()
			w.give("app", "1")
			w.rolls(1)
			gone(w)
			w.pass(quiet)
			w.give("app", "1")
			w.rolls(1) // its deletion rolled nothing, so that equal content is no change
		},
		"an apply that makes what is not there, which the API server calls a patch": func(_ *testing.T, w *world) {
			put := w.cluster.audit
			w.cluster.audit = func(h reloader.Hint) {
				if h.Verb == reloader.VerbCreate {
					h.Verb, h.Code = reloader.VerbPatch, http.StatusCreated
				}
				put(h)
			}
			w.deploy("web", auto, "app")
			w.settled()
			w.give("app", "1")
			w.rolls(0)
			w.edited("2", 1)
		},
		"both roll": func(t *testing.T, w *world) {
			w.configure = absences(true, true)
			w.usually()
			gone(w)
			w.rolls(1)
			w.give("app", "2")
			w.rolls(2)
			gone(w)
			w.rolls(3)
			if value, found := w.mark(); found {
				t.Errorf("the mark %s of a deleted config stayed", value)
			}
			w.give("app", "2")
			w.rolls(4)
		},
		"deletions roll, also while nobody runs": func(_ *testing.T, w *world) {
			w.configure = absences(false, true)
			w.usually()
			w.edited("2", 1)
			w.stop()
			gone(w)
			w.pass(quiet)
			w.settled()
			w.rolled(web, 2)
			w.successor()
			w.rolled(web, 2)
		},
		"a deletion in a namespace that ends": func(t *testing.T, w *world) {
			w.configure = absences(false, true)
			w.usually()
			w.cluster.terminating = true
			gone(w)
			w.rolls(0)
			if got := w.outcomes(webRef); got[reloader.ReasonNamespaceEnds] != 1 {
				t.Errorf("outcomes %v, want one NamespaceEnds", got)
			}
		},
		"the deletion of what said that it is to be ignored": func(t *testing.T, w *world) {
			w.configure = absences(false, true)
			w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: app, annotations: {reloader.stakater.com/ignore: "true"}}, data: {a: "1"}}`)))
			w.deploy("web", auto, "app")
			w.settled()
			gone(w)
			w.rolls(0)
		},
	})
}

// Creations of configs that nobody names.

// patterned is a workload with a pattern next to a config that matches it.
func (w *world) patterned(pattern string) {
	w.t.Helper()
	w.give("part-1", "1")
	w.give("app", "1")
	w.deploy("web", pattern, "app")
	w.pass(time.Minute)
}

const anyPart = `configmap.reloader.stakater.com/reload: "part-.*"`

// TestMadeWhileDown: what only a pattern matches, and was made while nobody ran, is a creation if it is proved that it was not there before.
func TestMadeWhileDown(t *testing.T) {
	made := func(w *world) { w.give("part-2", "1") }
	tests := map[string]struct {
		reason   string
		onCreate bool
		down     func(w *world)
		want     int64
	}{
		"creations roll":                {"it was not there when all were looked for", true, made, 1},
		"they do not":                   {"nobody asked for it", false, made, 0},
		"the pattern is a newer one":    {"nobody knows that it was not asked for when it was made", true, func(w *world) { made(w); w.pass(time.Minute); w.annotate("part-.") }, 1},
		"all is lost":                   {"a first start rolls nothing", true, func(w *world) { made(w); w.forget(); w.ledger.wipe() }, 0},
		"another of its name took over": {"its pods have started with it", true, func(w *world) { made(w); w.must(w.delete(alice, web)); w.deploy("web", anyPart, "app") }, 0},
		"the hint is lost":              {"nobody needs it", true, func(w *world) { made(w); w.stream.forget() }, 1},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = absences(test.onCreate, false)
			w.patterned(anyPart)
			w.settled()
			w.stop()
			w.pass(time.Minute)
			test.down(w)
			w.pass(time.Minute)
			for range 2 {
				w.settled()
				if g := w.revision(web); g != test.want+1 {
					t.Fatalf("%d template changes, want %d: %s", g-1, test.want, test.reason)
				}
				w.stop()
			}
			w.start()
			w.edit(alice, "ConfigMap/part-1", "2")
			w.rolls(test.want + 1)
		})
	}
}

// annotate gives web another pattern.
func (w *world) annotate(pattern string) {
	w.t.Helper()
	w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"configmap.reloader.stakater.com/reload":"`+pattern+`"}}}`)))
}

// TestMadeWithAGeneratedName: the audit event tells no name, so that all that a pattern could match are looked for.
func TestMadeWithAGeneratedName(t *testing.T) {
	for onCreate, want := range map[bool]int64{true: 1, false: 0} {
		inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = absences(onCreate, false)
			w.patterned(anyPart)
			w.settled()
			put := w.cluster.audit
			w.cluster.audit = func(h reloader.Hint) {
				h.Config.Name, h.Code = "", http.StatusCreated
				put(h)
			}
			w.give("part-x7k2p", "1")
			w.cluster.audit = put
			w.pass(5 * time.Second)
			w.rolled(web, want)
			w.edit(alice, "ConfigMap/part-x7k2p", "2")
			w.rolls(want + 1)
		})
	}
}

// TestMadeAndPendingAtTheEnd: a creation whose window is open when the process ends is rolled by the next, once.
func TestMadeAndPendingAtTheEnd(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(5 * time.Minute), MaxWait: scenario.Duration(5 * time.Minute)}, func(_ *testing.T, w *world) {
		w.configure = absences(true, false)
		w.patterned(anyPart)
		w.settled()
		w.stop()
		w.give("part-2", "1")
		w.pass(time.Minute)
		w.start()
		w.pass(2 * time.Minute)
		w.stop()
		w.rolled(web, 0)
		w.pass(time.Minute)
		w.start()
		w.pass(time.Hour)
		w.rolled(web, 1)
	})
}

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

// TestUnlisted: what the pod template names is known without a list. Of other configs the content of before is not known, and what was written is told
// as far as the managed fields do.
func TestUnlisted(t *testing.T) {
	label := func(by reloader.Actor) func(w *world) { return func(w *world) { w.labels(by, part1) } }
	edit := func(by reloader.Actor) func(w *world) {
		return func(w *world) { w.must(w.patch(by, part1, types.MergePatchType, []byte(`{"data":{"a":"Mg=="}}`))) }
	}
	const named, unnamed = `{name: main, envFrom: [{secretRef: {name: part-1}}]}`, `{name: main}`
	for name, test := range map[string]struct {
		container string
		act       func(w *world)
		rolls     int64
	}{
		"a label of what is named":                {named, label(alice), 0},
		"the content of what is named":            {named, edit(bob), 1},
		"the content, by who writes nothing else": {unnamed, edit(alice), 1},
		"a label, by another":                     {unnamed, label(bob), 0},
		"a label, by who wrote the content":       {unnamed, label(alice), 1}, // nobody can tell
	} {
		runWorld(t, name, scenario.Settings{}, func(_ *testing.T, w *world) {
			w.unlisted(test.container)
			w.settled()
			test.act(w)
			w.rolls(test.rolls)
			w.labels(alice, part1) // the content is known by then
			w.rolls(test.rolls)
		})
	}
}
