package dispatcher_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// sweeping has dispatchers sweep every ten minutes, and returns what counts for them.
func (w *world) sweeping() *prometheus.Registry {
	r := prometheus.NewRegistry()
	w.configure = func(o *dispatcher.Options) { o.SweepInterval, o.Registerer = 10*time.Minute, r }
	return r
}

// deaf has the feed lose every hint from now on.
func (w *world) deaf() { w.cluster.audit = func(reloader.Hint) {} }

// drifts is what sweeps have found alone.
func drifts(t *testing.T, r *prometheus.Registry) float64 {
	t.Helper()
	return sample(t, r, "reroll_sweep_drift_total").GetCounter().GetValue()
}

// sample is the first sample of a metric.
func sample(t *testing.T, r *prometheus.Registry, name string) *dto.Metric {
	t.Helper()
	found, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range found {
		if family.GetName() == name {
			return family.GetMetric()[0]
		}
	}
	t.Fatal("no " + name)
	return nil
}

// TestSweep: sweeps find changes without a hint.
func TestSweep(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"sweep finds what the feed lost": func(t *testing.T, w *world) {
			r := w.sweeping()
			w.usually()
			w.deaf()
			w.edit(alice, app, "2")
			w.pass(10*time.Minute + time.Second)
			w.rolled(web, 1)
			if got := drifts(t, r); got != 0 {
				t.Errorf("drift %v before the hint could have come late, want 0", got)
			}
			w.pass(10 * time.Minute)
			if got := drifts(t, r); got != 1 {
				t.Errorf("drift %v, want 1", got)
			}
			if reload := w.store.reloadsOf(webRef)[0]; reload.Causes[0].Source != reloader.SourceSweep {
				t.Errorf("source %s, want the sweep", reload.Causes[0].Source)
			}
			w.pass(time.Hour)
			w.rolled(web, 1)
		},
		"the feed is late": func(t *testing.T, w *world) {
			r := w.sweeping()
			w.usually()
			hint := w.editUnheard(alice, "2")
			w.pass(10*time.Minute + time.Second)
			w.rolled(web, 1)
			w.stream.send(hint)
			w.pass(10 * time.Minute)
			if got := drifts(t, r); got != 0 {
				t.Errorf("drift %v after the hint has come late, want 0", got)
			}
		},
		"sweep costs one list when nothing changed": func(t *testing.T, w *world) {
			w.sweeping()
			w.usual()
			w.start()
			w.pass(time.Minute)
			for _, verb := range []string{"list", "meta", "get"} {
				w.counted(verb) // starts counting again
			}
			w.pass(time.Hour)
			if lists, metas, gets := w.counted("list"), w.counted("meta"), w.counted("get"); lists != 6 || metas+gets != 0 {
				t.Errorf("%d lists, %d metadata and %d content reads in an hour of sweeps; want 6, 0, 0", lists, metas, gets)
			}
		},
		"who suspects a gap has everything looked at": func(_ *testing.T, w *world) {
			w.sweeping()
			w.usual()
			p := w.start()
			w.deaf()
			w.edit(alice, app, "2")
			p.Suspect("a canary was lost")
			w.pass(time.Second)
			w.rolled(web, 1)
		},
	})
}

// TestSweepWithoutLists: each sweep reads the configs that it may not list, one by one, and completes.
func TestSweepWithoutLists(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.sweeping()
		w.usually()
		w.deaf()
		w.failing(only("list", "", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)))
		w.edit(alice, app, "2")
		w.pass(20 * time.Minute)
		w.rolled(web, 1)
		s := sample(t, r, "reroll_sweep_completed_timestamp_seconds").GetGauge().GetValue()
		if age := time.Since(time.UnixMilli(int64(s * 1000))); age > 11*time.Minute {
			t.Errorf("every config was looked at %s ago", age)
		}
	})
}

// TestSweepOfTheUnreadable: what the API server refuses to show to a sweep keeps no debounce window open.
func TestSweepOfTheUnreadable(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(time.Hour)}
	inWorld(t, settings, func(_ *testing.T, w *world) {
		w.sweeping()
		w.twoConfigs("app", "other")
		w.settled()
		w.failing(only("list meta get", "", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)))
		w.pass(17 * time.Minute) // both were asked for
		w.failing(only("list meta get", "other", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "other", nil)))
		w.edit(alice, app, "2")
		w.pass(3 * time.Second)
		w.rolled(web, 1)
	})
}

const crowdSize = 30

// crowd makes a workload that depends on many ConfigMaps of its namespace, and another one with a pattern that matches them.
func (w *world) crowd() {
	w.t.Helper()
	var from []string
	for i := range crowdSize {
		w.must(w.create(alice, object(w.t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: c-%d, namespace: crowd}, data: {k: "1"}}`, i))))
		from = append(from, fmt.Sprintf("{configMapRef: {name: c-%d}}", i))
	}
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, namespace: crowd, annotations: {reroll.dev/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [%s]}]}}}`, strings.Join(from, ", ")))))
	w.must(w.create(alice, object(w.t, `
kind: Deployment
metadata: {name: pattern, namespace: crowd, annotations: {reroll.dev/configmaps: "c-*"}}
spec: {template: {spec: {containers: [{name: main}]}}}`)))
}

// TestStart: what a start asks for.
func TestStart(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// A start lists the configs of a namespace once, anyone who depends on them, and reads the content of those alone that have changed.
		"start lists metadata": func(t *testing.T, w *world) {
			w.crowd()
			w.settled()
			w.stop()
			w.edit(alice, "ConfigMap/crowd/c-7", "2")
			var mu sync.Mutex
			var verbs []string
			w.failing(func(verb, ref string) error {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(ref, "ConfigMap/crowd") {
					verbs = append(verbs, verb)
				}
				return nil
			})
			w.start()
			mu.Lock()
			if slices.Sort(verbs); !slices.Equal(verbs, []string{"get", "list"}) {
				t.Errorf("the requests were %v, want one list, and the content of what has changed", verbs)
			}
			mu.Unlock()
			w.pass(quiet)
			for _, name := range []string{"web", "pattern"} {
				w.rolled(scenario.NewRef("Deployment", "crowd", name), 1)
			}
		},
		"start stores the records that say something else": func(t *testing.T, w *world) {
			w.crowd()
			w.usually()
			w.edited("2", 1)
			w.stop()
			w.store.stored()
			w.settled()
			if n := w.store.stored(); n != 0 {
				t.Errorf("%d records were stored again, although nothing has changed", n)
			}
			w.stop()
			w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/keys":"a"}}}`)))
			p := w.settled()
			if n := w.store.stored(); n != 1 {
				t.Errorf("%d records were stored, want that of the workload that was edited meanwhile", n)
			}
			p.StoreAgain()
			w.pass(quiet)
			if n := w.store.stored(); n != 3 {
				t.Errorf("%d records were stored after NATS may have lost them, want all 3", n)
			}
		},
	})
}
