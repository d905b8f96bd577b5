package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const (
	pausing  = auto + `, deployment.reloader.stakater.com/pause-period: 10m`
	pausedAt = "deployment.reloader.stakater.com/paused-at"
)

// paused reports whether web is paused, and whether it says since when.
func (w *world) paused() (bool, bool) {
	w.t.Helper()
	obj, ok := w.read(web)
	if !ok {
		w.t.Fatal("web is gone")
	}
	_, says := obj.GetAnnotations()[pausedAt]
	return obj.(*appsv1.Deployment).Spec.Paused, says
}

func (w *world) wantPaused(paused, says bool) {
	w.t.Helper()
	if p, s := w.paused(); p != paused || s != says {
		w.t.Errorf("paused %v, says since when %v; want %v, %v", p, s, paused, says)
	}
}

// pausingWorld has a Deployment that was marked a moment ago, and is paused for ten minutes.
func pausingWorld(t *testing.T, w *world) {
	t.Helper()
	w.give("app", "1")
	w.deploy("web", pausing, "app")
	w.start()
	w.pass(time.Second)
	w.edit(alice, app, "2")
	w.pass(time.Second)
	w.wantPaused(true, true)
	w.rolled(web, 1) // the mark is written together with the pause
}

// TestPauseEnds: a pause period ends after its time, whatever happens to the process, the API server, the annotations or the scope. Nothing stays paused.
func TestPauseEnds(t *testing.T) {
	const minutes = 10 * time.Minute
	says := func(body string) func(w *world) {
		return func(w *world) { w.must(w.patch(bob, web, types.MergePatchType, []byte(body))); w.pass(minutes) }
	}
	away := func(d time.Duration) func(w *world) {
		return func(w *world) { w.stop(); w.pass(d); w.wantPaused(true, true); w.start(); w.pass(minutes) }
	}
	for name, act := range map[string]func(w *world){
		"after a restart beyond it": away(time.Hour),
		"after an outage": func(w *world) {
			w.failing(only("patch", "", errLost))
			w.pass(time.Hour)
			w.wantPaused(true, true)
			w.failing(nil)
			w.pass(2 * time.Minute)
		},
		"for who edits the config meanwhile": func(w *world) { w.pass(minutes / 2); w.edit(alice, app, "9"); w.pass(minutes / 2) },
		"for who opted out of reloading":     says(`{"metadata":{"annotations":{"reloader.stakater.com/auto":null}}}`),
		"for who opted out of pausing":       says(`{"metadata":{"annotations":{"deployment.reloader.stakater.com/pause-period":null}}}`),
		"of the future":                      says(`{"metadata":{"annotations":{"` + pausedAt + `":"2099-01-01T00:00:00Z"}}}`),
		"out of scope, at once": func(w *world) {
			w.running[0].Forget(webRef) // the next process would not see it at all
			w.pass(time.Second)
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			pausingWorld(t, w)
			act(w)
			w.wantPaused(false, false)
			w.pass(quiet)
			if record, known := w.store.recordOf(webRef); known && record.Hold != nil {
				t.Errorf("hold %+v after the pause", record.Hold)
			}
		})
	}
}

// calls are those of a webhook.
type calls struct {
	mu       sync.Mutex
	answer   error
	received []reloader.Reload
}

func (c *calls) Notify(_ context.Context, r reloader.Reload) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, r)
	return c.answer
}

// made returns the calls so far.
func (c *calls) made() []reloader.Reload {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.received)
}

// answers sets what is answered from now on.
func (c *calls) answers(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = err
}

// refusal is a webhook's answer.
type refusal bool

func (refusal) Error() string   { return "answered no" }
func (r refusal) Refused() bool { return bool(r) }

func TestWebhookInsteadOfRolling(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		hook := &calls{}
		w.configure = func(o *dispatcher.Options) { o.Webhook = hook }
		w.usual()
		if p := w.start(); !p.Status().Notifies {
			t.Error("the status does not say that a webhook is called instead")
		}
		w.pass(quiet)
		for i, value := range []string{"2", "1", "2"} {
			w.edit(alice, app, value)
			w.pass(quiet)
			if len(hook.made()) != i+1 {
				t.Fatalf("%d calls after %d changes", len(hook.made()), i+1)
			}
		}
		w.rolled(web, 0)
		last := hook.made()[2]
		if last.Workload != webRef || len(last.Causes) != 1 || last.Causes[0].Candidates[0].Actor.User != "alice" || last.Outcome != reloader.ReasonReloaded {
			t.Errorf("called with %+v", last)
		}
		if got := w.outcomes(webRef); got[reloader.ReasonNotified] != 3 {
			t.Errorf("outcomes %v, want three Notified", got)
		}
		w.successor()
		if len(hook.made()) != 3 {
			t.Errorf("%d calls after a restart, want 3", len(hook.made()))
		}
	})
}

func TestWebhookAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		reason reloader.Reason
	}{
		"unreachable": {errors.New("connection refused"), reloader.ReasonRetrying},
		"busy":        {refusal(false), reloader.ReasonRetrying},
		"refused":     {refusal(true), reloader.ReasonRefused},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			hook := &calls{answer: c.answer}
			w.configure = func(o *dispatcher.Options) { o.Webhook = hook }
			w.usually()
			w.edit(alice, app, "2")
			w.pass(time.Minute)
			record, _ := w.store.recordOf(webRef)
			if len(hook.made()) < 2 || record.Hold == nil || record.Hold.Reason != c.reason {
				t.Errorf("%d calls, hold %+v; want several, and %s", len(hook.made()), record.Hold, c.reason)
			}
			hook.answers(nil)
			w.pass(10 * time.Minute)
			if got := w.outcomes(webRef); got[reloader.ReasonNotified] != 1 {
				t.Errorf("outcomes %v, want one Notified", got)
			}
		})
	}
}

// braked has dispatchers hold back by b.
func (w *world) braked(b turn.Limits) {
	w.configure = func(o *dispatcher.Options) { o.Limits = b }
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

// TestBrakes: a workload that moved each time it had to be patched, and that something holds back now, is not rolling, and takes no other's place.
func TestBrakes(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.braked(turn.Limits{Concurrent: 1})
		p := w.usually()
		moves := 0
		w.failing(func(verb, ref string) error {
			if verb != "patch" || !strings.HasSuffix(ref, "/web") {
				return nil
			}
			moves++
			w.must(w.patch(bob, web, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"labels":{"move":"%d"}}}}}`, moves)))
			return apierrors.NewConflict(deployments, "web", errLost)
		})
		w.edit(alice, app, "2")
		w.pass(time.Second)
		if moves < 5 {
			t.Fatalf("it moved %d times, too few to be left alone", moves)
		}
		w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"web"}}}`)))
		p.SetControl(control.Parse(map[string]string{control.Key: fmt.Sprintf(`pauses: [{selector: "app=web", until: %q}]`, time.Now().Add(24*time.Hour).Format(time.RFC3339))}))
		w.pass(quiet)
		w.held(reloader.ReasonPausedByOperator)
		w.failing(nil)
		w.give("other", "1")
		w.deploy("other", auto, "other")
		w.pass(quiet)
		w.edit(alice, "ConfigMap/other", "2")
		w.pass(quiet)
		w.rolled("Deployment/other", 1)
	})
}
