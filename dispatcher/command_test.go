package dispatcher_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/tests/scenario"
)

func reloadWeb(id string) reloader.Command {
	return reloader.Command{ID: id, Cluster: clusterName, Verb: reloader.CommandReload, User: "carol", At: time.Now(), Workload: webRef, Reason: "new certificates"}
}

// ask gives a command to a dispatcher and fails the test unless its answer has that result.
func (w *world) ask(p *process, c reloader.Command, want reloader.CommandResult) reloader.CommandAnswer {
	w.t.Helper()
	answer := p.Reload(w.t.Context(), c)
	if answer.Result != want || answer.ID != c.ID || (answer.Message == "") != (want == reloader.CommandDone) {
		w.t.Errorf("answer %+v, want %s", answer, want)
	}
	return answer
}

// TestReloadAtSomebodysWord: one command is one roll, however often it is given, and it is on record with who gave it.
func TestReloadAtSomebodysWord(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		p := w.start()
		first := w.ask(p, reloadWeb("k-1"), reloader.CommandDone)
		again := w.ask(p, reloadWeb("k-1"), reloader.CommandDone)
		w.pass(quiet)
		w.rolled(web, 1)
		reloads := w.store.reloadsOf(webRef)
		if len(reloads) != 1 || reloads[0].Request == nil || len(reloads[0].Causes) != 0 {
			t.Fatalf("on record: %+v", reloads)
		}
		r := reloads[0]
		if r.Request.User != "carol" || r.Request.ID != "k-1" || r.Request.Reason != "new certificates" || r.Outcome != reloader.ReasonReloaded || r.PatchedAt.IsZero() {
			t.Errorf("on record: %+v, request %+v", r, r.Request)
		}
		if first.ReloadID != r.ID || again.ReloadID != r.ID || first.Outcome != reloader.ReasonReloaded {
			t.Errorf("answers name %s and %s, want %s", first.ReloadID, again.ReloadID, r.ID)
		}
		w.ask(p, reloadWeb("k-2"), reloader.CommandDone)
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

// TestReloadOfAnotherToolsWorkload: its mark stays, and goes on to prove what the workload was brought to.
func TestReloadOfAnotherToolsWorkload(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.deploy("web", sapLists, "app")
		p := w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		was := w.templateAnnotation(strategy.SAPHashKey)
		w.ask(p, reloadWeb("k-1"), reloader.CommandDone)
		w.pass(quiet)
		w.rolled(web, 2)
		reloads := w.store.reloadsOf(webRef)
		if last := reloads[len(reloads)-1]; w.templateAnnotation(strategy.SAPHashKey) != was || last.Strategy != reloads[0].Strategy || last.Dialect != "sap" {
			t.Errorf("the mark is %s, was %s; on record: %+v", w.templateAnnotation(strategy.SAPHashKey), was, last)
		}
		w.forget()
		w.start()
		w.pass(quiet)
		w.rolled(web, 2)
		w.edit(alice, app, "3")
		w.pass(quiet)
		w.rolled(web, 3)
	})
}

// TestReloadSurvivesItsProcess: a command that is repeated to another process is carried out once, and an edit after it still rolls.
func TestReloadSurvivesItsProcess(t *testing.T) {
	for name, forget := range map[string]bool{"recorded": false, "before it was recorded": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				p := w.start()
				w.pass(quiet)
				before := w.store.snapshot()
				w.ask(p, reloadWeb("k-1"), reloader.CommandDone)
				w.pass(quiet)
				w.stop()
				if forget {
					w.store = before
				}
				p = w.start()
				w.ask(p, reloadWeb("k-1"), reloader.CommandDone)
				w.pass(quiet)
				w.rolled(web, 1)
				if got := w.outcomes(webRef)[reloader.ReasonReloaded]; got != 1 {
					t.Errorf("%d reloads on record, want 1", got)
				}
				w.edit(alice, app, "2")
				w.pass(quiet)
				w.rolled(web, 2)
			})
		})
	}
}

// TestReloadMeetsAnEdit: a roll at somebody's word loses no change that waits, and the change rolls once.
func TestReloadMeetsAnEdit(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(time.Second)}, func(t *testing.T, w *world) {
		w.usual()
		p := w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.ask(p, reloadWeb("k-1"), reloader.CommandDone)
		w.pass(quiet)
		w.rolled(web, 2)
	})
}

func TestReloadIsRefused(t *testing.T) {
	cases := map[string]struct {
		prepare func(*world, *process)
		command func(*reloader.Command)
		want    reloader.CommandResult
		reason  string
	}{
		"frozen": {
			prepare: func(_ *world, p *process) { p.SetControl(control.Parse(map[string]string{control.FreezeKey: "true"})) },
			want:    reloader.CommandRefused, reason: "an operator wants no rolls at all",
		},
		"paused": {
			prepare: func(_ *world, p *process) {
				p.SetControl(control.Parse(map[string]string{control.PausesKey: `[{until: "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}]`}))
			},
			want: reloader.CommandRefused, reason: "an operator wants none of this workload",
		},
		"unknown": {
			command: func(c *reloader.Command) { c.Workload.Name = "other" }, want: reloader.CommandNotFound, reason: "only what is opted in is ever written",
		},
		"forbidden": {
			prepare: func(w *world, _ *process) {
				w.failing(only("patch", "/web", apierrors.NewForbidden(deployments, "web", errNoRight)))
			},
			want: reloader.CommandRefused, reason: "who asks is told what is wrong",
		},
		"API server away": {
			prepare: func(w *world, _ *process) { w.failing(only("patch", "/web", errLost)) },
			want:    reloader.CommandFailed, reason: "it may be repeated",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
				w.usual()
				p := w.start()
				w.pass(quiet)
				if tc.prepare != nil {
					tc.prepare(w, p)
				}
				c := reloadWeb("k-1")
				if tc.command != nil {
					tc.command(&c)
				}
				w.ask(p, c, tc.want)
				w.failing(nil)
				w.pass(quiet)
				w.rolled(web, 0)
			})
		})
	}
}

func TestReloadInADryRunIsRecordedAlone(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = func(o *dispatcher.Options) { o.DryRun = true }
		w.usual()
		p := w.start()
		w.pass(quiet)
		for range 2 {
			if answer := w.ask(p, reloadWeb("k-1"), reloader.CommandDone); answer.Outcome != reloader.ReasonDryRun {
				t.Errorf("outcome %s", answer.Outcome)
			}
		}
		w.pass(quiet)
		w.rolled(web, 0)
		if got := w.outcomes(webRef)[reloader.ReasonDryRun]; got != 1 {
			t.Errorf("%d on record, want 1", got)
		}
	})
}

func TestReloadBeforeReady(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
		w.usual()
		w.failing(only("get", "/app", errLost))
		w.ask(w.launch(), reloadWeb("k-1"), reloader.CommandFailed)
		w.rolled(web, 0)
	})
}
