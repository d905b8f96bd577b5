package dispatcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const (
	db   scenario.Ref = "Deployment/db"
	api  scenario.Ref = "Deployment/api"
	last scenario.Ref = "Deployment/last"
)

// row gives a world three Deployments that use one config and go one after another; db says nothing, which is first.
func (w *world) row() {
	w.t.Helper()
	w.give("app", "1")
	w.deploy("last", auto+`, reroll.dev/weight: "20"`, "app")
	w.deploy("api", auto+`, reroll.dev/weight: "10"`, "app")
	w.deploy("db", auto, "app")
	for _, ref := range []scenario.Ref{db, api, last} {
		w.say(ref, 1, allNew)
	}
}

func (w *world) holdOf(ref scenario.Ref) reloader.Hold {
	w.t.Helper()
	kind, namespace, name, _ := ref.Split()
	record, _ := w.store.recordOf(reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name})
	if record.Hold == nil {
		return reloader.Hold{}
	}
	return *record.Hold
}

func TestOrder(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.row()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(10 * time.Minute)
		w.rolled(db, 1)
		w.rolled(api, 0)
		w.rolled(last, 0)
		hold := w.holdOf(api)
		if hold.Reason != reloader.ReasonWaitingForStep || hold.Message != "ConfigMap/main/app: Deployment/main/db goes first, with less weight" || hold.Due.IsZero() {
			t.Errorf("api waits: %+v", hold)
		}
		w.say(db, 2, allNew)
		w.rolled(api, 1)
		w.rolled(last, 0)
		w.say(api, 2, allNew)
		w.rolled(last, 1)
		if hold := w.holdOf(last); hold.Reason != "" {
			t.Errorf("last still waits: %+v", hold)
		}
	})
}

// TestOrderGoesOnAfterAStall: who has stalled has had its turn.
func TestOrderGoesOnAfterAStall(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.row()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.say(db, 2, gaveUp)
		w.rolled(api, 1)
		w.rolled(last, 0)
	})
}

// TestOrderIsBounded: those that cannot go keep nobody from new content for longer than an hour.
func TestOrderIsBounded(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.row()
		p := w.start()
		w.pass(quiet)
		w.must(w.patch(bob, db, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"app":"db"}}}`)))
		p.SetControl(control.Parse(map[string]string{control.Key: "pauses: [{selector: app=db, until: 2100-01-01T00:00:00Z}]"}))
		w.edit(alice, app, "2")
		w.pass(50 * time.Minute)
		w.rolled(api, 0)
		w.pass(15 * time.Minute)
		w.rolled(db, 0)
		w.rolled(api, 1)
		w.rolled(last, 1)
	})
}

// TestOrderOutlivesARestart: a process that is new finds out who is rolling out, and keeps to the order.
func TestOrderOutlivesARestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.row()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.stop()
		w.start()
		w.pass(10 * time.Minute)
		w.rolled(db, 1)
		w.rolled(api, 0)
		w.say(db, 2, allNew)
		w.rolled(api, 1)
	})
}

// TestOrderIsOfOneNamespaceAndConfig: neither another namespace nor somebody who does not use the config holds anybody back.
func TestOrderIsOfOneNamespaceAndConfig(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: app, annotations: {reroll.dev/share-with: "*"}}, data: {a: "1"}}`)))
		w.give("other", "1")
		w.deploy("db", auto, "other")
		w.deploy("api", auto+`, reroll.dev/weight: "10"`, "app")
		w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: far, namespace: second, annotations: {reroll.dev/configmaps: main/app}}
spec: {template: {spec: {containers: [{name: main, image: none}]}}}`)))
		const far scenario.Ref = "Deployment/second/far"
		for _, ref := range []scenario.Ref{db, api, far} {
			w.say(ref, 1, allNew)
		}
		w.start()
		w.pass(quiet)
		w.edit(alice, "ConfigMap/other", "2")
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.rolled(db, 1)
		w.rolled(api, 1)
		w.rolled(far, 1)
	})
}

// TestOwnMaintenanceWindow: a workload's own windows hold beside those of the installation, and one that cannot be read holds until it is corrected.
func TestOwnMaintenanceWindow(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.deploy("web", auto+`, reroll.dev/maintenance-window: "CRON_TZ=UTC 0 3 * * * 1h"`, "app")
		w.deploy("api", auto+`, reroll.dev/maintenance-window: "nonsense"`, "app")
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.rolled(web, 0)
		w.rolled(api, 0)
		hold := w.held(reloader.ReasonOutsideWindow)
		if hold.Due.UTC().Hour() != 3 || hold.Due.UTC().Minute() != 0 {
			t.Errorf("due %s", hold.Due)
		}
		w.pass(time.Until(hold.Due) - time.Minute)
		w.rolled(web, 0)
		w.pass(2 * time.Minute)
		w.rolled(web, 1)
		record, _ := w.store.recordOf(reloader.WorkloadRef{Kind: "Deployment", Namespace: scenario.DefaultNamespace, Name: "api"})
		if len(record.Problems) != 1 || !strings.HasPrefix(record.Problems[0], "reroll.dev/maintenance-window: ") {
			t.Errorf("problems %q", record.Problems)
		}
		if record.Hold == nil || record.Hold.Reason != reloader.ReasonOutsideWindow || !record.Hold.Due.IsZero() {
			t.Errorf("held by %+v", record.Hold)
		}
		w.rolled(api, 0)
		w.says(api, `{"metadata":{"annotations":{"reroll.dev/maintenance-window":"CRON_TZ=UTC 0 0 * * * 24h"}}}`)
		w.pass(quiet)
		w.rolled(api, 1)
	})
}

// TestUnreadableMinInterval: after a roll, a workload whose own interval cannot be read waits for as long as one may ask for.
func TestUnreadableMinInterval(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.deploy("web", auto+`, reroll.dev/min-interval: "a day"`, "app")
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		w.edit(alice, app, "3")
		w.pass(24 * time.Hour)
		w.rolled(web, 1)
		if hold := w.held(reloader.ReasonTooSoon); time.Until(hold.Due) < 5*24*time.Hour {
			t.Errorf("due %s", hold.Due)
		}
		w.pass(6 * 24 * time.Hour)
		w.rolled(web, 2)
	})
}
