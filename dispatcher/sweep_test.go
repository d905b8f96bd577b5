package dispatcher_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// TestSweep: what is found without a hint.
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
		"who suspects a gap while a sweep is under way means what was looked at before, too": func(t *testing.T, w *world) {
			w.sweeping()
			w.usual()
			for _, manifest := range []string{
				`{kind: ConfigMap, metadata: {name: app, namespace: other}, data: {a: "1"}}`,
				`{kind: Deployment, metadata: {name: web, namespace: other, annotations: {` + auto + `}}, spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}}`,
			} {
				w.must(w.create(alice, object(t, manifest)))
			}
			elsewhere := scenario.NewRef("Deployment", "other", "web")
			p := w.start()
			w.pass(6 * time.Minute) // one of the two namespaces was looked at
			w.deaf()
			w.edit(alice, app, "2")
			w.edit(alice, scenario.NewRef("ConfigMap", "other", "app"), "2")
			p.Suspect("a canary was lost")
			w.pass(time.Second)
			w.rolled(web, 1)
			w.rolled(elsewhere, 1)
		},
	})
}

// TestSweepSaysWhenItLookedAtAll: the sweep at the start looks at all, what cannot be listed is read in each sixth round, and what could neither be
// listed nor read, also when that was tried again, was not looked at.
func TestSweepSaysWhenItLookedAtAll(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
	type ages = map[time.Duration]time.Duration
	for name, c := range map[string]struct {
		// fails is how requests fail at a time after the start; nil is not at all.
		fails func(at time.Duration, verb, ref string) error
		// after is how old the last look at all is at these times after the start.
		after ages
	}{
		"read in turn": {
			fails: refused(forbidden, "list"),
			after: ages{15 * time.Minute: 15 * time.Minute, 55 * time.Minute: 55 * time.Minute, 65 * time.Minute: 5 * time.Minute, 115 * time.Minute: 55 * time.Minute, 130 * time.Minute: 5 * time.Minute},
		},
		"one can never be read": {
			fails: either(refused(forbidden, "list", "Secret/"), refused(forbidden, "meta", "Secret/", "/bad")),
			after: ages{65 * time.Minute: 5 * time.Minute, 130 * time.Minute: 5 * time.Minute},
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			r := w.sweeping()
			w.usual()
			for _, name := range []string{"good", "bad"} {
				w.must(w.create(alice, object(t, `{kind: Secret, metadata: {name: `+name+`}, data: {a: MQ==}}`)))
				w.must(w.create(alice, object(t, `{kind: Deployment, metadata: {name: of-`+name+`, annotations: {`+auto+
					`}}, spec: {template: {spec: {containers: [{name: main, envFrom: [{secretRef: {name: `+name+`}}]}]}}}}`)))
			}
			w.start()
			began := time.Now()
			if c.fails != nil {
				w.failing(func(verb, ref string) error { return c.fails(time.Since(began), verb, ref) })
			}
			for _, at := range slices.Sorted(maps.Keys(c.after)) {
				w.pass(time.Until(began.Add(at)))
				s := sample(t, r, "reroll_sweep_completed_timestamp_seconds").GetGauge().GetValue()
				got := time.Since(time.UnixMilli(int64(s * 1000))).Round(time.Minute)
				if want := c.after[at]; (got-want).Abs() > 3*time.Minute && (want >= 0 || got > time.Hour) { // a round that reads takes a little longer
					t.Errorf("after %s every config was looked at %s ago, want %s", at, got, want)
				}
			}
			if got := sample(t, r, "reroll_sweep_interval_seconds").GetGauge().GetValue(); got != 600 {
				t.Errorf("it says that it sweeps every %v seconds", got)
			}
		})
	}
}

// refused fails the requests of a verb about what has all parts in its name.
func refused(err error, verb string, parts ...string) func(time.Duration, string, string) error {
	return func(_ time.Duration, v, ref string) error {
		for _, part := range parts {
			if !strings.Contains(ref, part) {
				return nil
			}
		}
		if v != verb {
			return nil
		}
		return err
	}
}

// either fails as the first does that fails.
func either(all ...func(time.Duration, string, string) error) func(time.Duration, string, string) error {
	return func(at time.Duration, verb, ref string) error {
		for _, fails := range all {
			if err := fails(at, verb, ref); err != nil {
				return err
			}
		}
		return nil
	}
}
