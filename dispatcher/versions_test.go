package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// versioned has dispatchers speak SAP's dialect as its tool does.
func (w *world) versioned() {
	w.configure = func(o *dispatcher.Options) { o.Dialects = o.Dialects.With(dialect.SAPOfVersions()) }
}

func (w *world) label(value string) {
	w.t.Helper()
	w.says(app, `{"metadata":{"labels":{"team":"`+value+`"}}}`)
}

// TestVersionsCount: each write of a config rolls once, and the mark is always that of the tool.
func TestVersionsCount(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.versioned()
		w.give("app", "1")
		w.marked(sapLists, strategy.SAPHashKey, w.sapMark())
		w.deploy("api", auto, "app")
		w.start()
		w.pass(quiet)
		w.rolled(web, 0)
		for rolls, write := range []func(){
			func() { w.label("a") }, func() { w.label("b") }, func() { w.edit(alice, app, "2") }, func() { w.label("a") },
		} {
			write()
			w.pass(quiet)
			w.rolled(web, int64(rolls)+1)
			if got := w.templateAnnotation(strategy.SAPHashKey); got != w.sapMark() {
				t.Errorf("after write %d the mark is %s, want %s", rolls, got, w.sapMark())
			}
		}
		w.rolled(api, 1)
	})
}

// TestVersionsOutliveARestart: a write that nobody saw is proved by the mark, and a restart by itself rolls nothing.
func TestVersionsOutliveARestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.versioned()
		w.give("app", "1")
		w.marked(sapLists, strategy.SAPHashKey, w.sapMark())
		w.start()
		w.pass(quiet)
		w.label("a")
		w.rolled(web, 1)
		w.stop()
		w.start()
		w.pass(quiet)
		w.rolled(web, 1)
		w.stop()
		w.label("b")
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
		w.forget()
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// TestVersionsAreChosenByTheWay: a mark that Reroll made of digests stays until something changes, and so does one of versions when the mode
// ends.
func TestVersionsAreChosenByTheWay(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.marked(sapLists, strategy.SAPHashKey, w.sapMark())
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		digests := w.templateAnnotation(strategy.SAPHashKey)
		w.stop()
		w.versioned()
		w.start()
		w.pass(time.Hour)
		w.rolled(web, 1)
		if got := w.templateAnnotation(strategy.SAPHashKey); got != digests {
			t.Errorf("the mark has become %s", got)
		}
		w.edit(alice, app, "3")
		w.pass(quiet)
		w.rolled(web, 2)
		versions := w.templateAnnotation(strategy.SAPHashKey)
		if versions != w.sapMark() {
			t.Errorf("the mark is %s, want %s", versions, w.sapMark())
		}
		w.stop()
		w.configure = nil
		w.start()
		w.label("a")
		w.rolled(web, 2)
		w.edit(alice, app, "4")
		w.pass(quiet)
		w.rolled(web, 3)
		if w.templateAnnotation(strategy.SAPHashKey) == w.sapMark() {
			t.Error("the mark is still made of versions")
		}
	})
}
