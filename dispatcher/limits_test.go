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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
		"its record is refused":          {auto, func(w *world) { w.configure = func(o *dispatcher.Options) { o.History = refusing{w.store, "victim"} } }, false, 1},
		"its configs cannot be listed":   {`configmap.reloader.stakater.com/reload: "part-.*"`, func(w *world) { w.failing(only("list", "", errLost)) }, false, 0},
		"its config cannot be read":      {auto, func(w *world) { w.failing(only("meta get", "/other", errLost)) }, false, 1},
		"its config cannot be decrypted": {auto, func(w *world) { w.failing(only("meta get", "/other", apierrors.NewInternalError(errLost))) }, true, 1},
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
			w.edit(alice, "ConfigMap/other", "2")
			w.pass(5 * time.Minute)
			if n := w.stream.unacknowledged(); n > 0 {
				t.Errorf("%d hints hold their place in the stream", n)
			}
			w.failing(nil)
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
				if record.Hold != nil && record.Hold.Reason == reloader.ReasonRetrying {
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

// TestRaces: a workload that changes, or is replaced, between the decision and the patch.
func TestRaces(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// A workload that was deleted and created again under the dispatcher's hands is not patched for its predecessor.
		"workload replaced": func(_ *testing.T, w *world) {
			w.usually()
			w.stall()
			w.edit(alice, app, "2")
			w.must(w.delete(alice, web))
			w.pass(10 * time.Second)
			w.deploy("web", auto, "app")
			w.pass(quiet)
			w.catchUp()
			w.rolls(0)
			w.edited("3", 1)
		},
		"the successor was made of a copy that was taken during the pause": func(t *testing.T, w *world) {
			pausingWorld(t, w)
			w.failing(func(verb, _ string) error { // the next patch finds it gone, and another one is there before the answer is heard
				if verb != "patch" {
					return nil
				}
				w.failing(nil)
				w.must(w.delete(alice, web))
				w.deploy("web", pausing, "app")
				since := time.Now().UTC().Format(time.RFC3339)
				w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+pausedAt+`":"`+since+`"}},"spec":{"paused":true}}`)))
				return apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "web")
			})
			w.pass(15 * time.Minute)
			w.wantPaused(true, true)
			w.pass(6 * time.Minute)
			w.wantPaused(false, false)
		},
	})
}

// TestConfigMovesWhileItIsDecidedAbout: between the decision and the mark a newer content is looked at. The mark would be that of the newer one,
// and State would have the older one, for which the same mark would be written once more.
func TestConfigMovesWhileItIsDecidedAbout(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(2 * time.Second)}, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/written":"since"}}}`))) // so the pods are read
		var once sync.Once
		w.failing(func(verb, _ string) error {
			if verb == "pods" {
				once.Do(func() {
					w.edit(alice, app, "3")
					<-time.After(500 * time.Millisecond)
				})
			}
			return nil
		})
		w.pass(quiet)
		if w.counted("pods") == 0 {
			t.Fatal("the pods were not read, so that nothing came in between")
		}
		w.rolled(web, 1)
	})
}

// TestMaximumWaitOverRestarts: it does not begin again with each process.
func TestMaximumWaitOverRestarts(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(10 * time.Second)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usually()
		for i := range 48 {
			w.edit(alice, app, string(rune('A'+i)))
			w.pass(250 * time.Millisecond)
			if i%16 == 15 {
				w.stop()
				w.start()
			}
		}
		w.rolled(web, 1)
		w.rolls(2)
		w.edit(alice, app, "a")
		w.pass(500 * time.Millisecond)
		w.rolled(web, 2) // what has waited is over
	})
}

// TestRequestsPerChange: at window 0 a change and a dependent cost one read and one patch, many dependents no more reads. A hint
// that comes twice costs nothing more, and each roll one more look at the metadata later.
func TestRequestsPerChange(t *testing.T) {
	for _, dependents := range []string{"w", "wxyz"} {
		inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
			w.give("app", "1")
			for _, name := range dependents {
				w.deploy(string(name), auto, "app")
			}
			w.settled()
			for _, verb := range []string{"meta", "get", "list", "read", "patch", "pods"} {
				w.counted(verb)
			}
			w.stream.hold()
			w.edit(alice, app, "2")
			hints := w.stream.take()
			w.stream.send(hints...)
			w.pass(quiet)
			want := map[string]int{"get": 1, "patch": len(dependents), "meta": 1}
			for _, verb := range []string{"meta", "get", "list", "read", "patch", "pods"} {
				if n := w.counted(verb); n != want[verb] {
					t.Errorf("%d dependents: %d requests of %s, want %d", len(dependents), n, verb, want[verb])
				}
			}
			w.stream.send(hints...)
			w.pass(quiet)
			if metas, gets := w.counted("meta"), w.counted("get"); metas != 0 || gets != 0 {
				t.Errorf("a hint that came twice cost %d reads of metadata and %d of content, want none", metas, gets)
			}
			w.give("stranger", "1")
			w.edit(alice, "ConfigMap/stranger", "2")
			w.pass(quiet)
			if n := w.counted("meta") + w.counted("get"); n != 0 {
				t.Errorf("%d reads of a config that nobody depends on", n)
			}
		})
	}
}
