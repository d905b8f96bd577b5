package dispatcher_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// waved creates web, which needs all of ConfigMap app and key b of ConfigMap more, and does without ConfigMap maybe.
func (w *world) waved() {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, `
kind: Deployment
metadata: {name: web, annotations: {`+waveLists+`}}
spec:
  template:
    spec:
      containers:
      - name: main
        envFrom: [{configMapRef: {name: app}}, {configMapRef: {name: maybe, optional: true}}]
        env: [{name: B, valueFrom: {configMapKeyRef: {name: more, key: b}}}]`)))
}

func (w *world) says(ref scenario.Ref, body string) {
	w.t.Helper()
	w.must(w.patch(alice, ref, types.MergePatchType, []byte(body)))
	w.pass(quiet)
}

// TestMissingHolds: what no pod could start without keeps everything from being rolled, is named, and once it is there lets it go at once.
func TestMissingHolds(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "1"}}`)))
		w.waved()
		w.start()
		w.pass(quiet)
		w.says("ConfigMap/more", `{"data":{"b":null,"c":"2"}}`)
		w.says(app, `{"data":{"a":"2"}}`)
		w.rolled(web, 0)
		if hold := w.held(reloader.ReasonMissingConfig); hold.Message != `missing: key "b" of ConfigMap/main/more` {
			t.Errorf("hold %+v", hold)
		}
		w.must(w.delete(alice, "ConfigMap/more"))
		w.pass(quiet)
		w.rolled(web, 0)
		if hold := w.held(reloader.ReasonMissingConfig); hold.Message != "missing: ConfigMap/main/more" {
			t.Errorf("hold %+v", hold)
		}
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "2"}}`)))
		w.pass(quiet)
		w.rolled(web, 1)
		w.held("")
	})
}

// TestMissingIsForgottenByOptingOut: nothing of the hold is anywhere but in the record, which goes.
func TestMissingIsForgottenByOptingOut(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.waved()
		w.start()
		w.pass(quiet)
		w.says(app, `{"data":{"a":"2"}}`)
		w.held(reloader.ReasonMissingConfig)
		before, _ := w.Template(t.Context(), web)
		w.says(web, `{"metadata":{"annotations":{"wave.pusher.com/update-on-config-change":null}}}`)
		if _, ok := w.store.recordOf(webRef); ok {
			t.Error("there still is a record")
		}
		if now, _ := w.Template(t.Context(), web); now.Spec.SchedulerName != before.Spec.SchedulerName || len(now.Annotations) > 0 {
			t.Errorf("something was left on the template: %+v", now)
		}
		w.rolled(web, 0)
	})
}

// TestMissingOutlivesARestart: the hold is found again, and what it waited for is rolled once.
func TestMissingOutlivesARestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.waved()
		w.start()
		w.pass(quiet)
		w.says(app, `{"data":{"a":"2"}}`)
		w.stop()
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "2"}}`)))
		w.start()
		w.pass(quiet)
		w.rolled(web, 1)
		w.held("")
	})
}

// TestOptionalComesAndGoes: a config that pods do without rolls them when it appears, and when it goes.
func TestOptionalComesAndGoes(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "1"}}`)))
		w.waved()
		w.start()
		w.pass(quiet)
		w.give("maybe", "1")
		w.pass(quiet)
		w.rolled(web, 1)
		w.must(w.delete(alice, "ConfigMap/maybe"))
		w.pass(quiet)
		w.rolled(web, 2)
		w.must(w.delete(alice, app))
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// TestDeletionThatTheHashDoesNotCover: Wave hashes nothing of what init containers take into their environment, and their pods were made of it all
// the same.
func TestDeletionThatTheHashDoesNotCover(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.give("maybe", "1")
		w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+waveLists+`}}
spec:
  template:
    spec:
      initContainers: [{name: first, envFrom: [{configMapRef: {name: maybe, optional: true}}]}]
      containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]`)))
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		w.must(w.delete(alice, "ConfigMap/maybe"))
		w.pass(quiet)
		w.rolled(web, 2)
		if got := w.outcomes(webRef); got[reloader.ReasonReloaded] != 2 {
			t.Errorf("outcomes %v", got)
		}
		w.stop()
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// TestDeletionOfANamesake: one that hid another in the hash, or was hidden, is gone, and the workload is rolled once.
func TestDeletionOfANamesake(t *testing.T) {
	for name, gone := range map[string]scenario.Ref{"of its own namespace": app, "of another": "ConfigMap/theirs/app"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.give("app", "1")
				w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: app, namespace: theirs, annotations: {reroll.dev/share-with: "*"}}, data: {a: "1"}}`)))
				w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+waveLists+`, wave.pusher.com/extra-configmaps: "app,theirs/app"}}
spec: {template: {spec: {containers: [{name: main}]}}}`)))
				w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.rolled(web, 1)
				w.must(w.delete(alice, gone))
				w.pass(quiet)
				w.rolled(web, 2)
			})
		})
	}
}

// TestOthersDoNotWait: only Wave promises it.
func TestOthersDoNotWait(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.waved()
		w.says(web, `{"metadata":{"annotations":{"wave.pusher.com/update-on-config-change":null,"reroll.dev/auto":"true"}}}`)
		w.start()
		w.pass(quiet)
		w.says(app, `{"data":{"a":"2"}}`)
		w.rolled(web, 1)
	})
}
