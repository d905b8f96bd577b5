package dispatcher_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
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
		w.start()
		w.pass(quiet)
		w.give("app", "1")
		w.pass(quiet)
		w.rolled(web, 1)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.give("app", "1")
		w.pass(quiet)
		w.rolled(web, 1) // its deletion rolled nothing, so that equal content is no change
	})
}

// TestReloadOnCreateOfWhatAPatternMatches: nobody knows its name before it is there.
func TestReloadOnCreateOfWhatAPatternMatches(t *testing.T) {
	for name, test := range map[string]struct {
		onCreate bool
		rolls    int64
	}{"creations roll": {true, 1}, "they do not": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.configure = absences(test.onCreate, false)
				w.give("part-1", "1")
				w.deploy("web", `configmap.reloader.stakater.com/reload: "part-.*"`, "app")
				w.start()
				w.pass(quiet)
				w.rolled(web, 0)
				w.give("part-2", "1")
				w.give("app", "1")
				w.pass(quiet)
				w.rolled(web, test.rolls)
				w.stop()
				w.start()
				w.pass(quiet)
				w.rolled(web, test.rolls)
				w.edit(alice, "ConfigMap/part-2", "2")
				w.pass(quiet)
				w.rolled(web, test.rolls+1)
			})
		})
	}
}

func TestReloadOnCreateFindsWhatAppearedMeanwhile(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(true, false)
		w.deploy("web", auto, "app")
		w.start()
		w.pass(quiet)
		w.stop()
		w.give("app", "1")
		w.pass(quiet)
		w.start()
		w.pass(quiet)
		w.rolled(web, 1)
	})
}

func TestCreationRollsNothingByDefault(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.deploy("web", auto, "app")
		w.start()
		w.pass(quiet)
		w.give("app", "1")
		w.pass(quiet)
		w.rolled(web, 0)
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
		w.start()
		w.pass(quiet)
		w.give("app", "1")
		w.pass(quiet)
		w.rolled(web, 0)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.rolled(web, 1)
	})
}

func TestReloadOnDelete(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(true, true)
		w.usual()
		w.start()
		w.pass(quiet)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.rolled(web, 1)
		w.give("app", "2")
		w.pass(quiet)
		w.rolled(web, 2)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.rolled(web, 3)
		if value, found := w.mark(); found {
			t.Errorf("the mark %s of a deleted config stayed", value)
		}
		w.give("app", "2")
		w.pass(quiet)
		w.rolled(web, 4)
	})
}

func TestReloadOnDeleteFindsWhatWentMeanwhile(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.stop()
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
		w.stop()
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// TestDeletionMarked: the annotation says that the config is gone, and is not written twice.
func TestDeletionMarked(t *testing.T) {
	inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usual()
		w.start()
		w.pass(quiet)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.rolled(web, 1)
		obj, _ := w.read(web)
		stripped := w.running[0].client.strip(obj)
		if got, _ := mark.Annotations.Read(stripped, appConfig); got != mark.DeletedValue {
			t.Errorf("mark %q, want that of a deleted config", got)
		}
		w.stop()
		w.store.records = map[reloader.WorkloadRef][]byte{}
		w.start()
		w.pass(quiet)
		w.rolled(web, 1)
	})
}

// TestMarkOfADeletionAndACreation: whoever is taken over with the mark of a deletion misses nothing by the creation that followed, unless
// creations count; an edit after it does count.
func TestMarkOfADeletionAndACreation(t *testing.T) {
	for name, test := range map[string]struct {
		onCreate, edited bool
		want             int64
	}{
		"created":                         {want: 1},
		"created and edited":              {edited: true, want: 2},
		"created, where that is a change": {onCreate: true, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
				w.configure = absences(false, true)
				w.usual()
				w.start()
				w.pass(quiet)
				w.must(w.delete(alice, app))
				w.pass(quiet)
				w.rolled(web, 1)
				w.stop()
				w.store.records = map[reloader.WorkloadRef][]byte{}
				w.give("app", "2")
				if test.edited {
					w.pass(time.Minute)
					w.edit(alice, app, "3")
				}
				w.pass(time.Minute)
				w.configure = absences(test.onCreate, true)
				w.start()
				w.pass(quiet)
				w.rolled(web, test.want)
			})
		})
	}
}

// TestDeletedAgain: a config goes, comes and goes again: the mark of the first time says nothing about the second.
func TestDeletedAgain(t *testing.T) {
	for name, content := range map[string]string{"another content between": "2", "the same content between": "1"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
				w.configure = absences(false, true)
				w.usual()
				w.start()
				w.pass(quiet)
				for _, rolls := range []int64{1, 2} {
					w.must(w.delete(alice, app))
					w.pass(time.Minute)
					w.rolled(web, rolls)
					w.give("app", content)
					w.pass(time.Minute)
					w.rolled(web, rolls)
				}
			})
		})
	}
}

// TestCrashAfterDeletionPatch: the patch went out, and the process ended before it could say so.
func TestCrashAfterDeletionPatch(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.store.lose(nil, errLost)
		w.must(w.delete(alice, app))
		w.pass(time.Minute)
		w.rolled(web, 2)
		w.stop()
		w.store.lose(nil, nil)
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// TestCrashAfterAnotherDeletionPatch: as TestCrashAfterDeletionPatch, where neither the mark nor pods say which deletion it is of.
func TestCrashAfterAnotherDeletionPatch(t *testing.T) {
	inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usual()
		w.start()
		w.pass(quiet)
		w.cluster.podStart = -time.Hour // no pod is new from now on
		w.must(w.delete(alice, app))
		w.pass(time.Minute)
		w.rolled(web, 1)
		w.give("app", "2")
		w.pass(time.Minute)
		w.store.lose(nil, errLost)
		w.must(w.delete(alice, app))
		w.pass(time.Minute)
		w.rolled(web, 2)
		w.stop()
		w.store.lose(nil, nil)
		w.forbidPatches()
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// forbidPatches fails the test at every patch from now on, also at one that changes nothing.
func (w *world) forbidPatches() {
	w.cluster.failing(func(verb, ref string) error {
		if verb == "patch" {
			w.t.Errorf("%s is patched once more", ref)
		}
		return nil
	})
}

func TestDeletionInEndingNamespaceRollsNothing(t *testing.T) {
	inWorld(t, scenario.Settings{Strategy: "annotations"}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usual()
		w.start()
		w.pass(quiet)
		w.cluster.terminating = true
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.rolled(web, 0)
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
		w.start()
		w.pass(quiet)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.rolled(web, 0)
	})
}

// TestReloadOnDeleteWhereThePlaceIsTaken: what stands there stays, and the workload is rolled all the same, once.
func TestReloadOnDeleteWhereThePlaceIsTaken(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = absences(false, true)
		w.give("app", "1")
		w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+collaborneList+`}}
spec: {template: {spec: {containers: [{name: main, env: [{name: _RELOADER_CONFIGMAP_APP, value: "Mine!"}], envFrom: [{configMapRef: {name: app}}]}]}}}`)))
		w.start()
		w.pass(quiet)
		w.cluster.podStart = -time.Hour // no pod is new from now on
		w.store.lose(nil, errLost)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.rolled(web, 1)
		w.stop() // before it could record the patch
		w.store.lose(nil, nil)
		w.forbidPatches()
		w.start()
		w.pass(quiet)
		w.rolled(web, 1)
		template, err := w.Template(t.Context(), web)
		w.must(err)
		if got := template.Spec.Containers[0].Env; len(got) != 1 || got[0].Value != "Mine!" {
			t.Errorf("the variables are %v", got)
		}
	})
}
