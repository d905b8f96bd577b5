package dispatcher_test

import (
	"crypto/sha1"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const collaborneList = `reloader.k8s.collaborne.com/configmap: app`

// stateful has dispatchers read the state of Collaborne's tool.
func (w *world) stateful() {
	w.configure = func(o *dispatcher.Options) {
		o.Dialects = o.Dialects.With(dialect.Collaborne(dialect.CollaborneOptions{State: "reloader-state"}))
	}
}

// remembering creates the state of Collaborne's tool, which has seen ConfigMap app with that value of key a last.
func (w *world) remembering(value string) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, fmt.Sprintf(
		`{kind: ConfigMap, metadata: {name: reloader-state}, data: {v1.ConfigMap_app: %x, v1.Secret_app: nonsense}}`, sha1.Sum([]byte("a="+value))))))
}

// TestStateIsAdopted: a workload whose variable is gone is judged by what the tool remembers.
func TestStateIsAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		seen     string
		podsLate bool
		rolls    int64
	}{
		"unchanged":  {"nothing was missed", "1", false, 0},
		"missed":     {"the config has changed while the tool was down", "0", false, 1},
		"newer pods": {"somebody else has rolled it since", "0", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.stateful()
				w.remembering(c.seen)
				if !c.podsLate {
					w.deploy("web", collaborneList, "app")
					w.pass(time.Minute)
				}
				w.give("app", "1")
				if c.podsLate {
					w.pass(time.Minute)
					w.deploy("web", collaborneList, "app")
				}
				w.pass(time.Minute)
				w.start()
				w.pass(quiet)
				w.rolled(web, c.rolls)
				w.stop()
				w.start()
				w.pass(quiet)
				w.rolled(web, c.rolls)
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.rolled(web, c.rolls+1)
			})
		})
	}
}

// TestStateIsAdoptedBesideOthers: the tool remembers also what a dialect asks for that comes before its own.
func TestStateIsAdoptedBesideOthers(t *testing.T) {
	for name, annotations := range map[string]string{
		"Reroll's own":                  collaborneList + ", reroll.dev/configmaps: app",
		"Stakater's, which both read":   `configmap.reloader.stakater.com/reload: app`,
		"Stakater's, asked for by both": collaborneList + `, ` + auto,
	} {
		for seen, rolls := range map[string]int64{"1": 0, "0": 1} {
			t.Run(name+", having seen "+seen, func(t *testing.T) {
				inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
					w.configure = func(o *dispatcher.Options) {
						o.Dialects = o.Dialects.With(dialect.Collaborne(dialect.CollaborneOptions{
							State: "reloader-state", ConfigMap: "configmap.reloader.stakater.com/reload",
						}))
					}
					w.remembering(seen)
					w.deploy("web", annotations, "app")
					w.pass(time.Minute)
					w.give("app", "1")
					w.pass(time.Minute)
					w.start()
					w.pass(quiet)
					w.rolled(web, rolls)
					w.edit(alice, app, "2")
					w.pass(quiet)
					w.rolled(web, rolls+1)
				})
			})
		}
	}
}

// TestStateIsForAdoptionAlone: who opts in later is not judged by it, and a state that may not be read says nothing.
func TestStateIsForAdoptionAlone(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.stateful()
		w.remembering("0")
		w.deploy("web", `a: b`, "app")
		w.give("app", "1")
		w.start()
		w.pass(quiet)
		w.says(web, `{"metadata":{"annotations":{"reloader.k8s.collaborne.com/configmap":"app"}}}`)
		w.rolled(web, 0)
	})
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.stateful()
		w.remembering("0")
		w.deploy("web", collaborneList, "app")
		w.pass(time.Minute)
		w.give("app", "1")
		w.failing(func(verb, ref string) error {
			if verb == "get" && ref == "ConfigMap/main/reloader-state" {
				return apierrors.NewGenericServerResponse(http.StatusForbidden, "get", schema.GroupResource{Resource: "configmaps"}, "reloader-state", "no", 0, false)
			}
			return nil
		})
		w.start()
		w.pass(quiet)
		w.rolled(web, 0)
	})
}
