package dispatcher_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

// only makes requests of one verb about objects whose name ends so meet err.
func only(verb, suffix string, err error) func(string, string) error {
	return func(v, ref string) error {
		if v == verb && strings.HasSuffix(ref, suffix) {
			return err
		}
		return nil
	}
}

// TestRefusedWorkload: one workload that cannot be patched is held with its reason, recorded once, tried again, and blocks nobody.
func TestRefusedWorkload(t *testing.T) {
	tests := map[string]struct {
		err      error
		hold     reloader.Reason
		recorded int
	}{
		"forbidden":       {apierrors.NewForbidden(deployments, "web", errLost), reloader.ReasonRefused, 1},
		"conflict":        {apierrors.NewConflict(deployments, "web", errLost), reloader.ReasonRetrying, 0},
		"connection lost": {errLost, reloader.ReasonRetrying, 0},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usual()
			w.deploy("other", auto, "app")
			w.settled()
			w.failing(only("patch", "/web", test.err))
			w.edit(alice, app, "2")
			w.pass(30 * time.Second)
			w.rolled(web, 0)
			w.rolled("Deployment/other", 1)
			record, _ := w.store.recordOf(webRef)
			if record.Hold == nil || record.Hold.Reason != test.hold || record.Edges[0].Pending == "" {
				t.Errorf("record while the workload is refused: %+v", record)
			}
			held := w.store.reloadsOf(webRef)
			if len(held) != test.recorded {
				t.Errorf("%d reloads are recorded while the workload is held, want %d", len(held), test.recorded)
			}
			w.failing(nil)
			w.pass(10 * time.Minute)
			w.rolled(web, 1)
			record, _ = w.store.recordOf(webRef)
			if record.Hold != nil || record.Edges[0].Pending != "" {
				t.Errorf("record after the workload is rolled: %+v", record)
			}
			for _, r := range held {
				if r.Outcome != test.hold || !strings.HasSuffix(r.ID, "-"+string(test.hold)) || r.ID == record.LastReload {
					t.Errorf("refusal recorded as %q with ID %q; the reload is %q", r.Outcome, r.ID, record.LastReload)
				}
			}
		})
	}
}

// TestUnreadableConfig: hints about a config that cannot be read hold no place in the stream for long, and are answered when it can be read.
func TestUnreadableConfig(t *testing.T) {
	for name, err := range map[string]error{
		"forbidden":    apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "app", errLost),
		"server error": apierrors.NewInternalError(errLost),
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			w.failing(only("get", "/app", err))
			w.edit(alice, app, "2")
			w.pass(5 * time.Minute)
			if w.stream.unacknowledged() != 0 {
				t.Error("the hint still holds its place in the stream")
			}
			w.rolled(web, 0)
			w.failing(nil)
			w.must(w.Quiesce(t.Context()))
			w.rolled(web, 1)
			change, _ := w.store.changesOf(appConfig)
			if len(change.Candidates) != 1 || change.Candidates[0].Actor.User != alice.User {
				t.Errorf("candidates %+v, want alice", change.Candidates)
			}
			if w.counted("get"); w.counted("get") != 0 {
				t.Error("it is looked at on and on")
			}
			w.pass(quiet)
			if n := w.counted("get"); n != 0 {
				t.Errorf("it was read %d times more", n)
			}
		})
	}
}

// TestStoreLost: without the stream and without records workloads still roll, and all is recorded when they are back, also about a workload
// that is gone by then.
func TestStoreLost(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(time.Second)}, func(t *testing.T, w *world) {
		w.usually()
		w.store.lose(errLost, nil)
		w.edited("2", 1)
		w.store.lose(nil, errLost)
		w.pass(time.Minute)
		w.rolled(web, 1)
		w.edit(alice, app, "3")
		w.pass(time.Minute)
		w.rolled(web, 2)
		w.must(w.delete(alice, web))
		w.pass(time.Minute)
		w.store.lose(nil, nil)
		w.pass(quiet)
		if got := w.outcomes(webRef); got[reloader.ReasonReloaded] != 2 {
			t.Errorf("outcomes %v, want two Reloaded", got)
		}
		if record, ok := w.store.recordOf(webRef); ok {
			t.Errorf("record of a workload that is gone: %+v", record)
		}
	})
}

// TestUnknownOutcome: a write that was answered 500 and is committed later is found a minute after its hint.
func TestUnknownOutcome(t *testing.T) {
	for _, code := range []int{0, http.StatusInternalServerError, http.StatusGatewayTimeout, http.StatusOK} {
		runWorld(t, http.StatusText(code), scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			w.stream.hold()
			w.edit(alice, app, "1")
			hint := w.stream.take()[0]
			hint.Code = code
			w.stream.send(hint)
			w.pass(30 * time.Second)
			w.stream.hold()
			w.edit(alice, app, "2")
			w.stream.take()
			w.pass(25 * time.Second)
			w.rolled(web, 0)
			w.pass(quiet)
			want := int64(1)
			if code == http.StatusOK {
				want = 0
			}
			w.rolled(web, want)
		})
	}
}

// TestManyUnknownOutcomes: hints that wait for a second look take no room in the stream, however many there are; and what was written meanwhile
// is found all the same.
func TestManyUnknownOutcomes(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		hint := w.editUnheard(alice, "1")
		hint.Code = http.StatusServiceUnavailable
		w.stream.send(slices.Repeat([]reloader.Hint{hint}, 12_000)...)
		w.pass(10 * time.Second)
		if n := w.stream.unacknowledged(); n != 0 {
			t.Errorf("%d hints are not acknowledged after the first look", n)
		}
		w.editUnheard(alice, "2")
		w.pass(70 * time.Second)
		w.rolled(web, 1)
	})
}
