package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
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
reroll_dead_letters{reason="Invalid"} 0
reroll_dead_letters{reason="Refused"} 0
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
	for name, ask := range map[string]func(w *world, p *process){
		"its annotation": func(w *world, _ *process) { annotate(w, `"reroll.dev/retry":"please"`) },
		"its spec": func(w *world, _ *process) {
			w.starting(-2 * time.Hour) // no pod is new from now on
			w.image(web, "other")
		},
		"its config":  func(w *world, _ *process) { w.edit(bob, app, "3") },
		"a new start": func(w *world, _ *process) { w.stop(); w.start() },
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			p := w.usually()
			before := w.deadLetter(unprocessable("spec.template is wrong"), reloader.ReasonRefused)
			w.pass(time.Minute)
			w.counted("patch")
			ask(w, p)
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

// TestDeadLetterBehindABrake: what is wrong stays seen while it is not even tried, over a restart too, and is neither told nor counted anew.
func TestDeadLetterBehindABrake(t *testing.T) {
	frozen := control.Frozen(control.Freeze{})
	for name, restart := range map[string]bool{"by the same process": false, "by the next one": true} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			p := w.usually()
			before := w.deadLetter(apierrors.NewForbidden(deployments, "web", errNoRight), reloader.ReasonRefused)
			p.SetControl(frozen)
			w.pass(quiet)
			if restart {
				w.stop()
				w.control = frozen
				p = w.start()
			}
			before.Attempts = max(before.Attempts, w.held(reloader.ReasonRefused).Attempts)
			w.counted("patch")
			w.pass(time.Hour)
			if n := w.counted("patch"); n != 0 {
				t.Errorf("%d attempts although everything is frozen", n)
			}
			if hold := w.held(reloader.ReasonRefused); hold.Attempts != before.Attempts || !hold.Since.Equal(before.Since) {
				t.Errorf("%+v behind the freeze, want %+v", hold, before)
			}
			p.SetControl(control.Control{})
			w.pass(6 * time.Minute)
			if hold := w.held(reloader.ReasonRefused); hold.Attempts <= before.Attempts || !hold.Since.Equal(before.Since) {
				t.Errorf("%+v does not go on from %+v", hold, before)
			}
			if got := w.outcomes(webRef); got[reloader.ReasonRefused] != 1 {
				t.Errorf("on record: %v, want Refused once", got)
			}
			w.failing(nil)
			w.pass(6 * time.Minute)
			w.rolled(web, 1)
			w.held("")
		})
	}
}
