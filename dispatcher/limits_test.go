package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// refusing refuses the records of one workload.
type refusing struct {
	*store
	name string
}

var errRefused = errors.New("the record is refused")

// PutWorkload stores the records of all others.
func (r refusing) PutWorkload(ctx context.Context, record reloader.WorkloadRecord) error {
	if record.Workload.Name == r.name {
		return errRefused
	}
	return r.store.PutWorkload(ctx, record)
}

// TestOneWorkloadHoldsUpNoOther: whatever goes wrong with one workload, be it for ever, the process gets ready within seconds and rolls the others.
func TestOneWorkloadHoldsUpNoOther(t *testing.T) {
	tests := map[string]struct {
		annotations string
		prepare     func(w *world)
		unreadable  bool
		rolls       int64
	}{
		"its record is refused": {auto, func(w *world) {
			w.configure = func(o *dispatcher.Options) { o.History = refusing{w.store, "victim"} }
		}, false, 1},
		"its configs cannot be listed": {`configmap.reloader.stakater.com/reload: "part-.*"`, func(w *world) {
			w.failing(only("list", "", errLost))
		}, false, 0},
		"its config cannot be read": {auto, func(w *world) {
			w.failing(only("meta get", "/other", errLost))
		}, false, 1},
		"its config cannot be decrypted": {auto, func(w *world) {
			w.failing(only("meta get", "/other", apierrors.NewInternalError(errLost)))
		}, true, 1},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usual()
			w.give("other", "1")
			w.deploy("victim", test.annotations, "other")
			test.prepare(w)
			p := w.launch()
			w.pass(time.Minute)
			if err := p.Ready(); err != nil {
				t.Fatalf("not ready because of one workload: %v", err)
			}
			w.stream.connect(p.Handle)
			w.edited("2", 1)
			if record, _ := w.store.recordOf(webNamed("victim")); test.unreadable != (len(record.Missing) > 0 && record.Missing[0].Unreadable != "") {
				t.Errorf("on record as unreadable: %+v", record.Missing)
			}
			w.failing(nil)
			w.pass(quiet)
			w.edit(alice, "ConfigMap/other", "2")
			w.must(w.Quiesce(t.Context()))
			w.rolled("Deployment/victim", test.rolls)
		})
	}
}

// TestLimits: what is bounded.
func TestLimits(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// Those that count are always the same, the workload says that there are more, and nobody else is held up.
		"a glob matches more configs than a workload may depend on": func(t *testing.T, w *world) {
			w.usual()
			for i := range dialect.MaxConfigs + 10 {
				w.give(fmt.Sprintf("part-%04d", i), "1")
			}
			w.deploy("all", `reroll.dev/configmaps: "*"`, "app")
			ref := webNamed("all")
			w.settled()
			first := w.dependencies(ref)
			if len(first) != dialect.MaxConfigs {
				t.Fatalf("%d dependencies, want %d", len(first), dialect.MaxConfigs)
			}
			r, _ := w.store.recordOf(ref)
			if problems := strings.Join(r.Problems, "\n"); !strings.Contains(problems, "more than 1000 configs") {
				t.Errorf("problems %q do not say that there are too many", problems)
			}
			w.stop()
			w.give("aaa", "1") // it would be the first by its name
			w.settled()
			if again := w.dependencies(ref); !slices.Equal(again, first) {
				t.Error("other configs count after a restart")
			}
			w.edit(alice, "ConfigMap/part-0000", "2")
			w.edit(alice, "ConfigMap/part-1009", "2")
			w.pass(quiet)
			w.rolled("Deployment/all", 1)
			w.rolled(web, 0)
		},
		// What waits there rolls when they have ended.
		"patches that hang, more than there are workers, are those of one namespace alone": func(t *testing.T, w *world) {
			const stuck = 64
			w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: app, namespace: stuck}, data: {k: "1"}}`)))
			for n := range stuck {
				w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web-%d, namespace: stuck, annotations: {reroll.dev/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`, n))))
			}
			w.usually()
			w.failing(func(verb, ref string) error {
				if verb == "patch" && strings.Contains(ref, "/stuck/") {
					<-time.After(30 * time.Second)
				}
				return nil
			})
			w.edit(alice, "ConfigMap/stuck/app", "2")
			w.pass(time.Second)
			w.edit(alice, app, "2")
			w.pass(5 * time.Second)
			w.rolled(web, 1)
			w.pass(5 * time.Second)
			said := 0
			for n := range stuck {
				record, _ := w.store.recordOf(reloader.WorkloadRef{Kind: "Deployment", Namespace: "stuck", Name: fmt.Sprint("web-", n)})
				if record.Hold != nil && record.Hold.Reason == reloader.ReasonLimited {
					said++
				}
			}
			if workers := 32; said < stuck-workers {
				t.Errorf("%d of %d workloads say that they wait for others of their namespace, and at most %d have a worker", said, stuck, workers)
			}
			w.pass(10 * time.Minute)
			for n := range stuck {
				w.rolled(scenario.NewRef("Deployment", "stuck", fmt.Sprint("web-", n)), 1)
				ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "stuck", Name: fmt.Sprint("web-", n)}
				if got := w.outcomes(ref); got[reloader.ReasonReloaded] != 1 {
					t.Errorf("outcomes of %s: %v", ref, got)
				}
			}
		},
	})
}

func (w *world) dependencies(ref reloader.WorkloadRef) (names []string) {
	r, _ := w.store.recordOf(ref)
	for _, e := range r.Edges {
		names = append(names, e.Config.Name)
	}
	return names
}
