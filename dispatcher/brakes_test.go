package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// braked has dispatchers hold back by b.
func (w *world) braked(b turn.Limits) {
	w.configure = func(o *dispatcher.Options) {
		b.Window, b.MaxWait = o.Limits.Window, o.Limits.MaxWait
		o.Limits = b
	}
}

// held fails the test unless the record of web says that it is held back for that reason, or for none.
func (w *world) held(reason reloader.Reason) reloader.Hold {
	w.t.Helper()
	record, ok := w.store.recordOf(webRef)
	if !ok {
		w.t.Fatal("web has no record")
	}
	var hold reloader.Hold
	if record.Hold != nil {
		hold = *record.Hold
	}
	if hold.Reason != reason {
		w.t.Errorf("held back for %q, want %q", hold.Reason, reason)
	}
	return hold
}

func TestFreezeAndThaw(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		p := w.usually()
		p.SetControl(control.Frozen(control.Freeze{Reason: "incident 7"}))
		for _, value := range []string{"2", "3"} {
			w.edit(alice, app, value)
			w.pass(time.Hour)
		}
		w.rolled(web, 0)
		if hold := w.held(reloader.ReasonFrozen); hold.Message != "incident 7" {
			t.Errorf("hold %+v does not say why", hold)
		}
		p.SetControl(control.Control{})
		w.pass(time.Second)
		w.rolled(web, 1)
		w.held("")
		w.edit(alice, app, "4")
		w.pass(time.Minute)
		w.rolled(web, 2)
		held := map[reloader.Reason]int{}
		for _, r := range w.store.reloadsOf(webRef) {
			held[r.HeldBy]++
		}
		if held[reloader.ReasonFrozen] != 1 || held[""] != 1 {
			t.Errorf("reloads by what held them: %v", held)
		}
	})
}

func TestPausedByOperator(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: other, labels: {app: other}, annotations: {`+auto+`}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`)))
		p := w.settled()
		p.SetControl(control.Parse(map[string]string{control.Key: fmt.Sprintf(`pauses: [{selector: "app notin (other)", until: %q}]`, time.Now().Add(time.Hour).Format(time.RFC3339))}))
		w.edit(alice, app, "2")
		w.pass(30 * time.Minute)
		w.rolled(web, 0)
		w.rolled("Deployment/other", 1)
		w.held(reloader.ReasonPausedByOperator)
		w.pass(time.Hour)
		w.rolled(web, 1)
	})
}

// TestFlapping: two controllers that overwrite each other's content every second for a day.
func TestFlapping(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.braked(turn.Limits{FlapLimit: 30})
		w.usually()
		const edits = 24 * 60
		for i := range edits {
			w.edit(alice, app, fmt.Sprint("a", i))
			w.pass(30 * time.Second)
			w.edit(bob, app, fmt.Sprint("b", i))
			w.pass(30 * time.Second)
		}
		w.held(reloader.ReasonFlapping)
		if g := w.revision(web); g < 30 || g > 30+24*5 {
			t.Errorf("%d rolls for %d contents in a day, want the 30 that are let go, and a few an hour", g, 2*edits)
		}
		w.pass(2 * time.Hour)
		w.held("")
		if value, _ := w.mark(); value == "" {
			t.Error("the mark is missing")
		}
	})
}

// TestRates: many workloads go one after the other, each once, and nobody is left behind.
func TestRates(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		const workloads = 300
		w.braked(turn.Limits{PerMinute: 60})
		w.give("app", "1")
		for i := range workloads {
			w.deploy(fmt.Sprint("web-", i), auto, "app")
		}
		w.settled()
		count := func() (n int64) {
			for i := range workloads {
				g := w.revision(scenario.Ref(fmt.Sprint("Deployment/web-", i)))
				n += g - 1
			}
			return n
		}
		w.edit(alice, app, "2")
		w.pass(time.Second)
		if n := count(); n < 6 || n > 7 {
			t.Errorf("%d rolls at once, want 6", n)
		}
		w.pass(time.Minute)
		if n := count(); n < 60 || n > 70 {
			t.Errorf("%d rolls in the first minute, want 66", n)
		}
		w.edit(alice, app, "3")
		w.pass(10 * time.Minute)
		if n := count(); n < workloads || n > workloads+70 {
			t.Errorf("%d rolls in all, want one each, and one more for those that had gone before the second edit", n)
		}
	})
}
