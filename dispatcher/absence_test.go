package dispatcher_test

import (
	"net/http"
	"testing"
	"time"

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

// TestAbsence: creations and deletions that roll nothing although they look like those that do.
func TestAbsence(t *testing.T) {
	gone := func(w *world) { w.must(w.delete(alice, app)) }
	each(t, scenario.Settings{}, worlds{
		"a deletion in a namespace that ends": func(t *testing.T, w *world) {
			w.configure = absences(false, true)
			w.usually()
			w.cluster.terminating = true
			gone(w)
			w.rolls(0)
		},
	})
}

// patterned is a workload with a pattern next to a config that matches it.
func (w *world) patterned(pattern string) {
	w.t.Helper()
	w.give("part-1", "1")
	w.give("app", "1")
	w.deploy("web", pattern, "app")
	w.pass(time.Minute)
}

const anyPart = `configmap.reloader.stakater.com/reload: "part-.*"`

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
