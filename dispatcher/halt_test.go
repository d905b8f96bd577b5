package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// fleet is a number of Deployments that use one config, in a world where changes go out in steps.
type fleet struct {
	*world
	n int
	// said has the revision up to which the controller of each has spoken.
	said map[scenario.Ref]int
}

func newFleet(w *world, n int) *fleet {
	w.t.Helper()
	w.configure = func(o *dispatcher.Options) { o.HaltOnFailedRollouts, o.RolloutDeadline = true, time.Hour }
	w.give("app", "1")
	f := &fleet{world: w, n: n, said: map[scenario.Ref]int{}}
	for i := range n {
		w.deploy(fmt.Sprintf("web-%02d", i), auto, "app")
	}
	for _, ref := range f.all() {
		w.say(ref, 1, allNew)
		f.said[ref] = 1
	}
	return f
}

func (f *fleet) all() []scenario.Ref {
	var refs []scenario.Ref
	for i := range f.n {
		refs = append(refs, scenario.Ref(fmt.Sprintf("Deployment/web-%02d", i)))
	}
	return refs
}

// changed returns whose template has changed since its controller last spoke, and how many changes of templates there were in all.
func (f *fleet) changed() (open []scenario.Ref, all int) {
	f.t.Helper()
	for _, ref := range f.all() {
		g := f.revision(ref)
		all += int(g) - 1
		if int(g) > f.said[ref] {
			open = append(open, ref)
		}
	}
	return open, all
}

// reached fails the test unless n templates have changed in all, and returns those whose controller has not spoken yet.
func (f *fleet) reached(n int) []scenario.Ref {
	f.t.Helper()
	open, all := f.changed()
	if all != n {
		f.t.Errorf("%d templates were changed, want %d", all, n)
	}
	return open
}

// answer has controllers say what they came to.
func (f *fleet) answer(refs []scenario.Ref, status string) {
	f.t.Helper()
	for _, ref := range refs {
		g := f.revision(ref)
		f.said[ref] = int(g)
		f.say(ref, int(g), status)
	}
}

// holds counts the reasons for which workloads are held back, and returns one of the messages for a reason.
func (f *fleet) holds(reason reloader.Reason) (n int, message string) {
	for _, ref := range f.all() {
		_, _, name, _ := ref.Split()
		record, _ := f.store.recordOf(webNamed(name))
		if record.Hold != nil && record.Hold.Reason == reason {
			n, message = n+1, record.Hold.Message
		}
	}
	return n, message
}

// TestHalt: changes go out in steps to 30 Deployments, of which none has begun.
func TestHalt(t *testing.T) {
	// goes has the content change, and returns whom the first step reaches.
	goes := func(f *fleet) []scenario.Ref {
		f.edit(alice, app, "2")
		f.pass(10 * time.Minute)
		return f.reached(1)
	}
	for name, test := range map[string]func(t *testing.T, f *fleet){
		"steps follow rollouts": func(t *testing.T, f *fleet) {
			first := goes(f)
			if n, message := f.holds(reloader.ReasonWaitingForStep); n != 29 || message != "ConfigMap/main/app" {
				t.Errorf("%d wait for their step, with the message %q", n, message)
			}
			f.answer(first, allNew)
			second := f.reached(4)
			f.answer(second[:2], allNew)
			f.pass(10 * time.Minute)
			f.reached(4)
			f.answer(second[2:], allNew)
			f.reached(30)
			if n, _ := f.holds(reloader.ReasonWaitingForStep); n != 0 {
				t.Errorf("%d still wait", n)
			}
		},
		"one that stalls holds the rest, over time and restarts, until somebody asks for another try": func(t *testing.T, f *fleet) {
			failed := goes(f)
			f.answer(failed, gaveUp)
			f.pass(3 * time.Hour)
			f.reached(1)
			n, message := f.holds(reloader.ReasonHalted)
			if _, _, name, _ := failed[0].Split(); n != 29 || !strings.Contains(message, "ConfigMap/main/app: the rollout of Deployment/main/"+name+" has stalled") {
				t.Errorf("%d are halted, with the message %q", n, message)
			}
			change, _ := f.store.changesOf(appConfig)
			if short := change.Old.Short(); short == "" || !strings.Contains(message, short) {
				t.Errorf("the message %q does not name the content before, %s", message, short)
			}
			f.successor()
			f.reached(1)
			f.annotateWith(failed[0], dispatcher.RetryAnnotation, "1")
			f.pass(time.Second)
			f.answer(f.reached(2), allNew)
			f.answer(f.reached(5), allNew)
			f.reached(30)
		},
		"whoever comes after counts as before, also what it finds patched and not on record": func(_ *testing.T, f *fleet) {
			f.store.lose(nil, errLost)
			goes(f)
			f.stop()
			f.store.lose(nil, nil)
			f.start()
			f.pass(time.Hour / 2)
			f.answer(f.reached(1), allNew)
			second := f.reached(4)
			f.stop()
			f.answer(second[:1], allNew)
			f.start()
			f.pass(time.Minute)
			f.reached(4)
			f.answer(second[1:], allNew)
			f.pass(time.Minute)
			f.reached(30)
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			f := newFleet(w, 30)
			w.settled()
			test(t, f)
		})
	}
}
