package dispatcher_test

import (
	"net/http"
	"testing"

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

func TestReloadOnCreate(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(true, false)
		w.deploy("web", auto, "app")
		w.settled()
		w.give("app", "1")
		w.rolls(1)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.give("app", "1")
		w.rolls(1) // its deletion rolled nothing, so that equal content is no change
	})
}

// TestCreationByApplyRollsNothingByDefault: an apply makes what is not there, and the API server calls that a patch.
func TestCreationByApplyRollsNothingByDefault(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
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
	})
}

func TestReloadOnDelete(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(true, true)
		w.usually()
		w.must(w.delete(alice, app))
		w.rolls(1)
		w.give("app", "2")
		w.rolls(2)
		w.must(w.delete(alice, app))
		w.rolls(3)
		if value, found := w.mark(); found {
			t.Errorf("the mark %s of a deleted config stayed", value)
		}
		w.give("app", "2")
		w.rolls(4)
	})
}

func TestReloadOnDeleteFindsWhatWentMeanwhile(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usually()
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.stop()
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.settled()
		w.rolled(web, 2)
		w.successor()
		w.rolled(web, 2)
	})
}

func TestDeletionInEndingNamespaceRollsNothing(t *testing.T) {
	inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usually()
		w.cluster.terminating = true
		w.must(w.delete(alice, app))
		w.rolls(0)
		if got := w.outcomes(webRef); got[reloader.ReasonNamespaceEnds] != 1 {
			t.Errorf("outcomes %v, want one NamespaceEnds", got)
		}
	})
}

// TestIgnoredConfigMayGo: what a config said about itself holds for its deletion.
func TestIgnoredConfigMayGo(t *testing.T) {
	inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: app, annotations: {reloader.stakater.com/ignore: "true"}}, data: {a: "1"}}`)))
		w.deploy("web", auto, "app")
		w.settled()
		w.must(w.delete(alice, app))
		w.rolls(0)
	})
}
