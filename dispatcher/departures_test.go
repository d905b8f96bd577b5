package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// Configs that go away from the content to which a workload was brought, and come back to it.

// sweeping has dispatchers look at everything every ten minutes.
func sweeping(o *dispatcher.Options) { o.SweepInterval = 10 * time.Minute }

// deafly does something of which no hint comes.
func (w *world) deafly(act func()) {
	w.stream.hold()
	act()
	w.stream.take()
}

// TestDepartureOfWhichNobodyTold: the hint about the change is lost, and a sweep finds it only minutes after pods have started with it. It left
// after the last look that still found the content of before. A process that starts when it is back has not seen it away: what started in between
// keeps that content (exception X1).
func TestDepartureOfWhichNobodyTold(t *testing.T) {
	tests := map[string]struct {
		reason string
		act    func(w *world)
		rolls  int64
	}{
		"pods were lost": {"they have the content of between", func(w *world) {
			w.deafly(func() { w.edit(alice, app, "2") })
			w.pass(time.Minute)
			w.restarted(web)
		}, 1},
		"pods were lost long before": {"a sweep has still found the content then", func(w *world) {
			w.restarted(web)
			w.pass(25 * time.Minute)
			w.deafly(func() { w.edit(alice, app, "2") })
		}, 0},
		"nothing started": {"there is nothing to do", func(w *world) {
			w.deafly(func() { w.edit(alice, app, "2") })
		}, 0},
		"deleted, and made anew with other content": {"its optional reference is no reason to wait", func(w *world) {
			w.deafly(func() {
				w.must(w.delete(alice, app))
				w.pass(time.Minute)
				w.restarted(web)
				w.pass(time.Minute)
				w.give("app", "2")
			})
		}, 1},
		"two changes, of which the first is told late": {"the first of them is when it left", func(w *world) {
			w.stream.hold()
			w.edit(alice, app, "2")
			w.pass(10 * time.Second)
			w.restarted(web)
			w.pass(10 * time.Second)
			w.edit(alice, app, "3")
			w.stream.send(w.stream.take()...)
		}, 1},
	}
	for name, test := range tests {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %v", name, restart), func(t *testing.T) {
				inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
					w.configure = sweeping
					w.give("app", "1")
					w.wants("name: app, optional: true")
					w.control = control.Frozen(control.Freeze{})
					p := w.start()
					w.pass(time.Hour)
					test.act(w)
					w.pass(30 * time.Minute)
					w.edit(alice, app, "1")
					w.pass(30 * time.Minute)
					w.control = control.Control{}
					if restart {
						w.stop()
						p = w.start()
					}
					p.SetControl(w.control)
					w.pass(time.Hour)
					want := test.rolls
					if restart {
						want = 0
					}
					if g := w.revision(web); g != want+1 {
						t.Errorf("%d template changes, want %d: %s", g-1, want, test.reason)
					}
				})
			})
		}
	}
}

// TestMadeAnewAfterTheEnd: pods have started with the content of between, who saw that has ended, and the config was deleted and made anew as
// it was. Nobody is left who saw it away, so that nothing rolls (exception X1), however often one looks.
func TestMadeAnewAfterTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		// seen acts while a dispatcher that is frozen looks on.
		seen  func(w *world)
		after func(w *world)
	}{
		"made anew before the end":             {func(w *world) { w.again("1") }, func(*world) {}},
		"deleted before the end":               {func(w *world) { w.must(w.delete(alice, app)) }, func(w *world) { w.give("app", "1") }},
		"deleted before the end, and not back": {func(w *world) { w.must(w.delete(alice, app)) }, func(*world) {}},
		"made anew afterwards":                 {func(*world) {}, func(w *world) { w.again("1") }},
	} {
		for _, live := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, live %v", name, live), func(t *testing.T) {
				inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
					w.usual()
					w.control = control.Frozen(control.Freeze{})
					w.start()
					w.pass(quiet)
					w.edit(alice, app, "2")
					w.pass(time.Minute)
					w.restarted(web)
					w.pass(time.Minute)
					w.edit(alice, app, "1")
					w.pass(time.Minute)
					test.seen(w)
					w.pass(time.Minute)
					w.stop()
					w.control = control.Control{}
					if live {
						w.start()
						w.pass(quiet)
					}
					test.after(w)
					w.pass(time.Minute)
					for range 3 {
						if len(w.running) == 0 {
							w.start()
						}
						w.pass(quiet)
						w.rolled(web, 0)
						w.stop()
					}
				})
			})
		}
	}
}

// TestThawedWhileGone: a workload that is let go while its config is gone has nothing to do, and yet its pods may have started with something else
// than what comes back.
func TestThawedWhileGone(t *testing.T) {
	for name, test := range map[string]struct {
		gone  func(w *world)
		back  string
		rolls int64
	}{
		"back to the old content, then gone": {func(w *world) { w.edit(alice, app, "1"); w.pass(time.Minute); w.must(w.delete(alice, app)) }, "1", 1},
		"gone with another content":          {func(w *world) { w.must(w.delete(alice, app)) }, "1", 1},
		"and back with that":                 {func(w *world) { w.must(w.delete(alice, app)) }, "2", 1},
		"and not back":                       {func(w *world) { w.must(w.delete(alice, app)) }, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				w.control = control.Frozen(control.Freeze{})
				d := w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				w.restarted(web)
				w.pass(time.Minute)
				test.gone(w)
				w.pass(time.Minute)
				w.control = control.Control{}
				d.SetControl(w.control)
				w.pass(quiet)
				w.rolled(web, 0)
				if test.back != "" {
					w.give("app", test.back)
				}
				w.pass(quiet)
				w.rolled(web, test.rolls)
			})
		})
	}
}

// TestMadeAnewAndNeverAway: a config that is deleted and made anew as it was, by whomever it is seen, is none that was away.
func TestMadeAnewAndNeverAway(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(10 * time.Second) // what starts after the last look that finds the content makes one more roll
		w.restarted(web)
		w.pass(quiet)
		for range 3 {
			w.again("2")
			w.pass(quiet)
			w.stop()
			w.start()
			w.pass(quiet)
		}
		w.rolled(web, 1)
		if got := w.outcomes(webRef); len(w.store.reloadsOf(webRef)) != 1 {
			t.Errorf("outcomes %v, want one Reloaded alone", got)
		}
	})
}

// TestAwayForManyChanges: the content went away more changes ago than a process remembers looks. The process that finds it back does not know what
// has started since, and rolls once if something has; one that starts then has not seen it away (exception X1).
func TestAwayForManyChanges(t *testing.T) {
	for name, test := range map[string]struct {
		restarted bool
		live      bool
		rolls     int64
	}{
		"pods were lost":                  {true, false, 0},
		"pods were lost, and one goes on": {true, true, 1},
		"nothing started":                 {false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				w.pass(time.Minute)
				w.control = control.Frozen(control.Freeze{})
				p := w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				if test.restarted {
					w.restarted(web)
				}
				for n := range 64 {
					w.pass(time.Minute)
					w.edit(alice, app, fmt.Sprint(n+3))
				}
				w.pass(time.Minute)
				w.edit(alice, app, "1")
				w.pass(time.Minute)
				w.control = control.Control{}
				if !test.live {
					w.stop()
					p = w.start()
				}
				p.SetControl(w.control)
				w.pass(quiet)
				w.rolled(web, test.rolls)
				w.stop()
				w.start()
				w.pass(quiet)
				w.rolled(web, test.rolls)
			})
		})
	}
}

// TestPartsOfPodsStartedMeanwhile: a container of the template that started with the content of between counts, be it a sidecar. One that somebody
// else has put into the pods does not.
func TestPartsOfPodsStartedMeanwhile(t *testing.T) {
	for part, rolls := range map[string]int64{"main": 1, "sidecar": 1, "setup": 1, "injected": 0} {
		t.Run(part, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.give("app", "1")
				w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+auto+`}}
spec: {template: {spec: {
  initContainers: [{name: setup}, {name: sidecar, restartPolicy: Always}],
  containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`)))
				p := w.start()
				w.pass(quiet)
				p.SetControl(control.Frozen(control.Freeze{}))
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				w.cluster.mu.Lock()
				w.part = part
				w.cluster.mu.Unlock()
				w.restarted(web)
				w.pass(time.Minute)
				w.edit(alice, app, "1")
				w.pass(time.Minute)
				p.SetControl(control.Control{})
				w.pass(quiet)
				w.rolled(web, rolls)
			})
		})
	}
}

// losePods has the pods start anew, with what is live.
func (m *model) losePods() {
	m.did("pods are lost")
	m.restarted(web)
	m.reads.Lock()
	defer m.reads.Unlock()
	for name, all := range m.contents {
		m.pods[name] = len(all) - 1
	}
}
