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
		w.settled()
		w.says("ConfigMap/more", `{"data":{"b":null,"c":"2"}}`)
		w.says(app, `{"data":{"a":"2"}}`)
		w.rolled(web, 0)
		if hold := w.held(reloader.ReasonMissingConfig); hold.Message != `missing: key "b" of ConfigMap/main/more` {
			t.Errorf("hold %+v", hold)
		}
		w.must(w.delete(alice, "ConfigMap/more"))
		w.rolls(0)
		if hold := w.held(reloader.ReasonMissingConfig); hold.Message != "missing: ConfigMap/main/more" {
			t.Errorf("hold %+v", hold)
		}
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "2"}}`)))
		w.rolls(1)
		w.held("")
	})
}

// TestMissingOutlivesARestart: the hold is found again, and what it waited for is rolled once.
func TestMissingOutlivesARestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.waved()
		w.settled()
		w.says(app, `{"data":{"a":"2"}}`)
		w.stop()
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "2"}}`)))
		w.settled()
		w.rolled(web, 1)
		w.held("")
	})
}
