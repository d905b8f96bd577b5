package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// restart does what kubectl rollout restart does.
func (w *world) restart(ref scenario.Ref) {
	w.t.Helper()
	body := `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"` + time.Now().Format(time.RFC3339) + `"}}}}}`
	w.must(w.patch(bob, ref, types.MergePatchType, []byte(body)))
}

// starting has pods take that long to start from now on.
func (w *world) starting(takes time.Duration) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.podStart = takes
}

// TestRolledByOthersWhileItWaits: who waits long, be it for a window or because somebody holds it back, may be rolled by somebody else
// meanwhile. Then all its pods have started with the content that it waits for, and it is not rolled once more.
func TestRolledByOthersWhileItWaits(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Hour), MaxWait: scenario.Duration(time.Hour)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(10 * time.Minute)
		w.restart(web)
		w.pass(2 * time.Hour)
		w.rolled(web, 1)
		if got := w.outcomes(webRef); got[reloader.ReasonPodsNewer] != 1 || got[reloader.ReasonReloaded] != 0 {
			t.Errorf("outcomes %v, want one PodsNewer", got)
		}
		w.edit(alice, app, "1")
		w.pass(2 * time.Hour)
		w.rolled(web, 2)
	})
}

// TestWrittenByOthersWhileItWaits: a write that starts no pods is none of that.
func TestWrittenByOthersWhileItWaits(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Hour), MaxWait: scenario.Duration(time.Hour)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(10 * time.Minute)
		w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		w.pass(2 * time.Hour)
		w.rolled(web, 1)
	})
}

// TestRolledByOthersWhileItIsRead: a look that begins before others roll the workload, and ends after the content has changed once more,
// does not make their pods newer than that content.
func TestRolledByOthersWhileItIsRead(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Minute), MaxWait: scenario.Duration(time.Minute)}
	for name, then := range map[string]func(*world){
		"the process goes on": func(*world) {},
		"a new process":       func(w *world) { w.stop(); w.start() },
		"the records are lost": func(w *world) {
			w.stop()
			w.store.records = map[reloader.WorkloadRef][]byte{}
			w.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, settings, func(t *testing.T, w *world) {
				w.configure = func(o *dispatcher.Options) { o.Configs = slowly{o.Configs, "app"} }
				w.usual()
				w.start()
				w.pass(quiet)
				w.edit(alice, app, "marked")
				w.pass(quiet)
				w.rolled(web, 1)
				w.edit(alice, app, "2")
				w.pass(2 * time.Second)
				w.restart(web)
				w.pass(2 * time.Second)
				w.edit(alice, app, "3")
				w.pass(20 * time.Second)
				then(w)
				w.pass(quiet)
				w.rolled(web, 3)
			})
		})
	}
}

// TestRolledByOthersWhileAway: content that is written, and a workload that somebody changes after that, while no dispatcher runs, leave nothing
// to do; but not where the pods may have started before the content became what it is.
func TestRolledByOthersWhileAway(t *testing.T) {
	write := func(data string) func(*world) {
		return func(w *world) {
			w.must(w.patch(bob, app, types.MergePatchType, fmt.Appendf(nil, `{"data":%s}`, data)))
		}
	}
	restart := func(w *world) { w.restart(web) }
	for name, c := range map[string]struct {
		away []func(*world)
		// rolls are those of Reroll.
		rolls int
	}{
		"content before pods": {[]func(*world){write(`{"a":"2"}`), restart}, 0},
		"pods before content": {[]func(*world){restart, write(`{"a":"2"}`)}, 1},
		"both twice":          {[]func(*world){write(`{"a":"2"}`), restart, write(`{"a":"3"}`), restart}, 0},
		"content last":        {[]func(*world){write(`{"a":"2"}`), restart, write(`{"a":"3"}`)}, 1},
		"a key was added":     {[]func(*world){write(`{"b":"2"}`), restart}, 0},
		"a key was taken":     {[]func(*world){write(`{"z":null}`), restart}, 1},
		"a label came last": {[]func(*world){write(`{"a":"2"}`), restart, func(w *world) {
			w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)))
		}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				w.start()
				w.pass(quiet)
				w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"data":{"z":"1"}}`)))
				w.pass(quiet)
				w.stop()
				before := w.outcomes(webRef)[reloader.ReasonReloaded]
				for _, do := range c.away {
					w.pass(time.Minute)
					do(w)
				}
				w.pass(time.Minute)
				w.start()
				w.pass(quiet)
				if got := w.outcomes(webRef)[reloader.ReasonReloaded] - before; got != c.rolls {
					t.Errorf("it was rolled %d times, want %d: %v", got, c.rolls, w.outcomes(webRef))
				}
				w.edit(alice, app, "4")
				w.pass(quiet)
				if got := w.outcomes(webRef)[reloader.ReasonReloaded] - before; got != c.rolls+1 {
					t.Errorf("after the next change it was rolled %d times, want %d", got, c.rolls+1)
				}
			})
		})
	}
}

// TestDeletedWhileItWaits: a deletion, and a workload that somebody changes after that, leave nothing to do; but not the other way round, and not if
// nobody saw the config go before the pods came, as no object is left that could say when it went.
func TestDeletedWhileItWaits(t *testing.T) {
	remove := func(w *world) { w.must(w.delete(alice, "ConfigMap/more")) }
	restart := func(w *world) { w.restart(web) }
	for name, c := range map[string]struct {
		do    []func(*world)
		down  bool
		rolls int
	}{
		"deleted before pods":            {[]func(*world){remove, restart}, false, 0},
		"pods before":                    {[]func(*world){restart, remove}, false, 1},
		"deleted before pods, unseen":    {[]func(*world){remove, restart}, true, 1},
		"deleted while nobody was there": {[]func(*world){restart, remove}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			settings := scenario.Settings{Window: scenario.Duration(time.Hour), MaxWait: scenario.Duration(time.Hour)}
			inWorld(t, settings, func(t *testing.T, w *world) {
				w.give("app", "1")
				w.give("more", "1")
				w.deploy("web", `pod-reloader.cs.sap.com/configmaps: "app,more"`, "app")
				w.start()
				w.pass(2 * time.Hour)
				if c.down {
					w.stop()
				}
				for _, do := range c.do {
					w.pass(time.Minute)
					do(w)
				}
				w.pass(time.Minute)
				if c.down {
					w.start()
				}
				w.pass(2 * time.Hour)
				if got := w.outcomes(webRef)[reloader.ReasonReloaded]; got != c.rolls {
					t.Errorf("it was rolled %d times, want %d: %v", got, c.rolls, w.outcomes(webRef))
				}
			})
		})
	}
}

// TestDeletionThatIsStamped: another reloader that runs beside Reroll has marked a workload for a deletion. Marks count at first sight alone, so that Reroll
// rolls it once more; who runs two reloaders is warned at the start.
func TestDeletionThatIsStamped(t *testing.T) {
	made := markOfAbsence(t)
	inWorld(t, scenario.Settings{Window: scenario.Duration(10 * time.Second), MaxWait: scenario.Duration(time.Minute)}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.give("more", "1")
		w.deploy("web", `pod-reloader.cs.sap.com/configmaps: "app,more"`, "app")
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		w.starting(-time.Hour) // its old pods still run
		w.must(w.delete(alice, "ConfigMap/more"))
		w.must(w.patch(bob, web, types.MergePatchType, fmt.Appendf(nil,
			`{"spec":{"template":{"metadata":{"annotations":{%q:%q}},"spec":{"hostname":"new"}}}}`, mark.SAPHashKey, made)))
		w.pass(quiet)
		w.rolled(web, 3)
		w.give("more", "3")
		w.pass(quiet)
		w.rolled(web, 4)
	})
}

// markOfAbsence returns the mark of a workload that lists app, with the value 2, and more, which is not there.
func markOfAbsence(t *testing.T) (value string) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, other *world) {
		other.give("app", "1")
		other.deploy("web", `pod-reloader.cs.sap.com/configmaps: "app,more"`, "app")
		other.start()
		other.pass(quiet)
		other.edit(alice, app, "2")
		other.pass(quiet)
		value = other.templateAnnotation(mark.SAPHashKey)
	})
	return value
}
