package dispatcher_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestTerms: the record says what the workload itself asks for, and what it lacks; and says it anew when either changes.
func TestTerms(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.waved()
		w.settled()
		more := reloader.Config{Kind: reloader.ConfigMap, Namespace: scenario.DefaultNamespace, Name: "more"}
		says := func(want reloader.Terms, missing ...reloader.Missing) {
			t.Helper()
			record, _ := w.store.recordOf(webRef)
			if diff := cmp.Diff(want, record.Terms); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(missing, record.Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		}
		gone := reloader.Missing{Config: more, Required: true, Awaited: true}
		says(reloader.Terms{}, gone)
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {c: "1"}}`)))
		w.pass(quiet)
		says(reloader.Terms{}, reloader.Missing{Config: more, Keys: []string{"b"}, Required: true, Awaited: true})
		w.says("ConfigMap/more", `{"data":{"b":"1"}}`)
		says(reloader.Terms{})
		w.says(web, `{"metadata":{"annotations":{"reroll.dev/maintenance-window":"CRON_TZ=UTC 0 22 * * * 6h","reroll.dev/min-interval":"10m"}}}`)
		says(reloader.Terms{Windows: []string{"CRON_TZ=UTC 0 22 * * * 6h"}, MinInterval: 600})
		w.must(w.delete(alice, "ConfigMap/more"))
		w.pass(quiet)
		says(reloader.Terms{Windows: []string{"CRON_TZ=UTC 0 22 * * * 6h"}, MinInterval: 600}, gone)
	})
}

// TestTermsOfWhatComesToNothing: the record says why a workload is not rolled at all, and which keys matter to it; and says it anew when either
// changes, so that whoever reads it foresees what becomes of a change.
func TestTermsOfWhatComesToNothing(t *testing.T) {
	const nightly scenario.Ref = "CronJob/nightly"
	nightlyRef := reloader.WorkloadRef{Kind: "CronJob", Namespace: scenario.DefaultNamespace, Name: "nightly"}
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.must(w.create(alice, object(t, `
kind: CronJob
metadata: {name: nightly, annotations: {`+auto+`}}
spec: {suspend: true, jobTemplate: {spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}}}`)))
		w.deploy("web", auto+`, reroll.dev/keys: "used, *.yaml ,,!debug*"`, "app")
		w.settled()
		says := func(ref reloader.WorkloadRef, want reloader.Terms) {
			t.Helper()
			record, _ := w.store.recordOf(ref)
			if diff := cmp.Diff(want, record.Terms); diff != "" {
				t.Errorf("terms of %s (-want +got):\n%s", ref, diff)
			}
		}
		says(nightlyRef, reloader.Terms{Dormant: reloader.ReasonSuspended})
		says(webRef, reloader.Terms{Keys: "used,*.yaml,!debug*"})
		w.edit(alice, app, "2")
		w.pass(quiet)
		for ref, want := range map[reloader.WorkloadRef]reloader.Reason{nightlyRef: reloader.ReasonSuspended, webRef: reloader.ReasonKeysUnused} {
			if got := w.outcomes(ref); len(got) != 1 || got[want] != 1 {
				t.Errorf("outcomes of %s: %v, want %s as its record foretells", ref, got, want)
			}
		}
		w.says(nightly, `{"spec":{"suspend":false}}`)
		says(nightlyRef, reloader.Terms{})
		w.says(web, `{"metadata":{"annotations":{"reroll.dev/keys":"("}}}`)
		says(webRef, reloader.Terms{})
	})
}

// TestUsedKeys: the record says of which configs the keys in use alone matter, and in what way they are used when that changes.
func TestUsedKeys(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "1"}}`)))
		w.waved()
		w.settled()
		edges := func() map[string]reloader.Edge {
			record, _ := w.store.recordOf(webRef)
			found := map[string]reloader.Edge{}
			for _, e := range record.Edges {
				found[e.Config.Name] = e
			}
			return found
		}
		if got := edges(); got["app"].UsedKeys || !got["more"].UsedKeys {
			t.Errorf("of what Wave takes keys of, and of nothing else, it hashes no others: %+v", got)
		}
		w.says("ConfigMap/more", `{"data":{"c":"1"}}`)
		if got := w.outcomes(webRef); len(got) != 1 || got[reloader.ReasonKeysUnused] != 1 {
			t.Errorf("outcomes %v, want one KeysUnused as the record foretells", got)
		}
		w.must(w.patch(bob, web, types.StrategicMergePatchType, []byte(
			`{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"B","valueFrom":{"configMapKeyRef":{"name":"more","key":"c"}}}]}]}}}}`)))
		w.pass(quiet)
		if got := edges()["more"]; len(got.Uses) != 1 || !slices.Equal(got.Uses[0].Keys, []string{"c"}) {
			t.Errorf("it uses another key now: %+v", got)
		}
		w.says(web, `{"metadata":{"annotations":{"reloader.stakater.com/auto":"true"}}}`)
		if got := edges()["more"]; got.UsedKeys {
			t.Errorf("another dialect asks for every key: %+v", got)
		}
	})
}

// TestWhyIsToldAnew: a config that asks not to roll anybody any more says so by its annotations alone, and the records of its dependents tell of it
// before it changes.
func TestWhyIsToldAnew(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		says := func(want reloader.Reason) {
			t.Helper()
			if record, _ := w.store.recordOf(webRef); len(record.Edges) != 1 || record.Edges[0].Why != want {
				t.Errorf("the record says %+v, want %s", record.Edges, want)
			}
		}
		says(reloader.ReasonAuto)
		w.says(app, `{"metadata":{"annotations":{"reroll.dev/ignore":"true"}}}`)
		says(reloader.ReasonConfigIgnored)
		w.edit(alice, app, "2")
		w.pass(quiet)
		if got := w.outcomes(webRef); len(got) != 1 || got[reloader.ReasonConfigIgnored] != 1 {
			t.Errorf("outcomes %v, want one ConfigIgnored as the record foretells", got)
		}
		w.says(app, `{"metadata":{"annotations":{"reroll.dev/ignore":null}}}`)
		says(reloader.ReasonAuto)
	})
}
