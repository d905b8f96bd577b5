package dispatcher_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// errNoRight is how the API server says that a right is missing.
var errNoRight = fmt.Errorf("%s cannot patch resource %q in API group %q in the namespace %q",
	`User "system:serviceaccount:reroll:reroll"`, "deployments", "apps", "main")

// deadLetter edits the config of web while its patch meets err, until nobody expects it to succeed, and returns the hold.
func (w *world) deadLetter(err error, reason reloader.Reason) reloader.Hold {
	w.t.Helper()
	w.failing(only("patch", "/web", err))
	w.edit(alice, app, "2")
	w.pass(time.Hour)
	hold := w.held(reason)
	if !hold.DeadLetter() || hold.Attempts < 12 || hold.Message == "" || time.Since(hold.Since) < 50*time.Minute {
		w.t.Errorf("%+v does not tell how often it was tried, since when, and what was wrong", hold)
	}
	return hold
}

// TestDeadLetter: what is refused for good, or fails again and again, is seen, is tried slowly, and is on record once.
func TestDeadLetter(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason reloader.Reason
	}{
		"forbidden":       {apierrors.NewForbidden(deployments, "web", errNoRight), reloader.ReasonRefused},
		"invalid":         {unprocessable("spec.template is wrong"), reloader.ReasonRefused},
		"fails each time": {apierrors.NewInternalError(errLost), reloader.ReasonFailing},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			registry := prometheus.NewRegistry()
			w.configure = func(o *dispatcher.Options) { o.Registerer = registry }
			w.usually()
			w.deadLetter(c.err, c.reason)
			if hold := w.held(c.reason); name == "forbidden" && !strings.Contains(hold.Message, `cannot patch resource "deployments" in API group "apps"`) {
				t.Errorf("%q does not name the missing right", hold.Message)
			}
			want := `
# HELP reroll_dead_letters Workloads that could not be patched and will not be without help, by reason.
# TYPE reroll_dead_letters gauge
reroll_dead_letters{reason="Failing"} 0
reroll_dead_letters{reason="Refused"} 0
reroll_dead_letters{reason="ReloadFailed"} 0
`
			want = strings.Replace(want, string(c.reason)+`"} 0`, string(c.reason)+`"} 1`, 1)
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "reroll_dead_letters"); err != nil {
				t.Error(err)
			}
			if got := w.outcomes(webRef); len(got) != 1 || got[c.reason] != 1 {
				t.Errorf("on record: %v, want %s once", got, c.reason)
			}
			w.counted("patch")
			w.pass(time.Hour)
			if n := w.counted("patch"); n < 11 || n > 13 {
				t.Errorf("%d attempts in an hour, want one in five minutes", n)
			}
			w.failing(nil)
			w.pass(6 * time.Minute)
			w.rolled(web, 1)
			w.held("")
		})
	}
}

// TestDeadLetterIsTriedAgain: at once when something has changed about it, or somebody asks.
func TestDeadLetterIsTriedAgain(t *testing.T) {
	annotate := func(w *world, annotation string) {
		w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{`+annotation+`}}}`)))
	}
	for name, ask := range map[string]func(w *world){
		"its annotation": func(w *world) { annotate(w, `"reroll.dev/retry":"please"`) },
		"its config":     func(w *world) { w.edit(bob, app, "3") },
		"a new start":    func(w *world) { w.stop(); w.start() },
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			before := w.deadLetter(unprocessable("spec.template is wrong"), reloader.ReasonRefused)
			w.pass(time.Minute)
			w.counted("patch")
			ask(w)
			w.pass(time.Second)
			if n := w.counted("patch"); n == 0 {
				t.Error("it was not tried again")
			}
			after := w.held(reloader.ReasonRefused)
			if after.Attempts <= before.Attempts || !after.Since.Equal(before.Since) {
				t.Errorf("%+v does not go on from %+v", after, before)
			}
			if got := w.outcomes(webRef); got[reloader.ReasonRefused] != 1 {
				t.Errorf("on record: %v, want Refused once", got)
			}
		})
	}
}

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

// only makes requests of these verbs about objects whose name ends so meet err.
func only(verbs, suffix string, err error) func(string, string) error {
	return func(verb, ref string) error {
		if slices.Contains(strings.Fields(verbs), verb) && strings.HasSuffix(ref, suffix) {
			return err
		}
		return nil
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

// TestUnknownOutcome: a write that was answered 500 and is committed later is found a minute after its hint. However many hints wait for that, they
// hold no place in the stream.
func TestUnknownOutcome(t *testing.T) {
	for _, code := range []int{0, http.StatusInternalServerError, http.StatusGatewayTimeout, http.StatusOK} {
		runWorld(t, http.StatusText(code), scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			hint := w.editUnheard(alice, "1")
			hint.Code = code
			w.stream.send(slices.Repeat([]reloader.Hint{hint}, 3000)...)
			w.pass(30 * time.Second)
			if n := w.stream.unacknowledged(); n != 0 {
				t.Errorf("%d hints are not acknowledged after the first look", n)
			}
			w.editUnheard(alice, "2")
			w.pass(25 * time.Second)
			w.rolled(web, 0)
			w.rolls(map[bool]int64{true: 1}[code != http.StatusOK])
		})
	}
}
