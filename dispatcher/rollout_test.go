package dispatcher_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// What a controller says of a Deployment with one replica.
const (
	allNew  = `"replicas":1,"updatedReplicas":1,"availableReplicas":1,"conditions":null`
	halfNew = `"replicas":2,"updatedReplicas":1,"availableReplicas":1,"conditions":null`
	gaveUp  = `"replicas":2,"updatedReplicas":1,"availableReplicas":1,
		"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]`
	allOld = `"replicas":1,"updatedReplicas":0,"availableReplicas":1,"conditions":null`
)

// say has the controller of a Deployment say that it has seen its template, in which revision, and how far it is.
func (w *world) say(ref scenario.Ref, revision int, status string) {
	w.t.Helper()
	controller := reloader.Actor{User: "controller", FieldManager: "kube-controller-manager"}
	w.must(w.patch(controller, ref, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"%d"}}}`, revision)))
	g, err := w.Generation(w.t.Context(), ref)
	w.must(err)
	w.must(w.patch(controller, ref, types.MergePatchType, fmt.Appendf(nil, `{"status":{"observedGeneration":%d,%s}}`, g, status)))
	w.pass(time.Second)
}

// spec has somebody change the spec of a Deployment, but not its template. Its controller has not seen that.
func (w *world) spec(ref scenario.Ref, spec string) {
	w.t.Helper()
	w.must(w.patch(bob, ref, types.MergePatchType, fmt.Appendf(nil, `{"spec":%s}`, spec)))
	w.pass(time.Second)
}

// image has somebody change the template of a Deployment.
func (w *world) image(ref scenario.Ref, image string) {
	w.t.Helper()
	w.must(w.patch(bob, ref, types.StrategicMergePatchType,
		fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)))
	w.pass(time.Second)
}

// results returns what is recorded of the rollouts of web: of each reload that rolled it all that was recorded of it.
func (w *world) results() string {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	var decided []time.Time
	var found []string
	for _, data := range w.store.reloads {
		r := decode[reloader.Reload](data)
		if r.Workload != webRef || r.Outcome != reloader.ReasonReloaded {
			continue
		}
		if r.Rollout == nil {
			decided, found = append(decided, r.DecidedAt), append(found, "")
			continue
		}
		at := slices.IndexFunc(decided, r.DecidedAt.Equal)
		if at < 0 || r.Rollout.EndedAt.Before(r.Rollout.StartedAt) || r.Rollout.StartedAt.IsZero() {
			w.t.Errorf("not a later word about a reload: %+v", r)
		}
		found[at] = strings.TrimSpace(found[at] + " " + string(r.Rollout.Result))
	}
	return strings.Join(found, "; ")
}

// TestRollout: what is recorded of the rollouts of each reload, by what happens after the patch. The record of the workload says the last of it.
func TestRollout(t *testing.T) {
	const deadline = 10 * time.Minute
	type step = func(w *world)
	say := func(revision int, status string) step { return func(w *world) { w.say(web, revision, status) } }
	spec := func(spec string) step { return func(w *world) { w.spec(web, spec) } }
	edit := func(value string) step { return func(w *world) { w.edit(alice, app, value); w.pass(time.Second) } }
	passes := func(d time.Duration) step { return func(w *world) { w.pass(d) } }
	paused, resumed := spec(`{"paused":true}`), spec(`{"paused":false}`)
	ends, starts := func(w *world) { w.stop() }, func(w *world) { w.start() }
	deleted := func(w *world) { w.must(w.delete(alice, web)) }
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"it rolls out":                {[]step{say(2, halfNew), say(2, allNew)}, "RolledOut"},
		"not begun":                   {[]step{say(1, allNew)}, ""},
		"it stalls, and rolls out":    {[]step{say(2, gaveUp), say(2, halfNew), say(2, allNew)}, "Stalled RolledOut"},
		"somebody else's template":    {[]step{say(2, halfNew), func(w *world) { w.image(web, "next") }, say(3, halfNew)}, "Overtaken"},
		"each reload has its own end": {[]step{say(2, halfNew), edit("3"), say(3, allNew)}, "Overtaken; RolledOut"},
		"a pause, and a new process":  {[]step{paused, say(1, allOld), ends, resumed, say(2, halfNew), starts, passes(deadline)}, "WaitingForOperator Stalled"},
		"a long pause":                {[]step{paused, say(1, allOld), passes(2 * deadline), resumed, say(2, halfNew), say(2, allNew)}, "WaitingForOperator RolledOut"},
		"and no more than that":       {[]step{paused, say(1, allOld), passes(2 * deadline), resumed, say(2, halfNew), passes(deadline)}, "WaitingForOperator Stalled"},
		"no replicas":                 {[]step{spec(`{"replicas":0}`), say(2, `"replicas":0`)}, "WaitingForOperator"},
		"the deadline":                {[]step{say(2, halfNew), passes(deadline)}, "Stalled"},
		"no controller":               {[]step{spec(`{"progressDeadlineSeconds":600}`), passes(deadline)}, "Stalled"},
		"deleted":                     {[]step{deleted}, "Overtaken"},
		"opted out":                   {[]step{func(w *world) { w.says(web, `{"metadata":{"annotations":{"reloader.stakater.com/auto":null}}}`) }}, "Overtaken"},
		"it ends for the next":        {[]step{ends, starts, say(2, allNew)}, "RolledOut"},
		"the connection is lost":      {[]step{func(w *world) { w.store.lose(nil, errLost) }, say(2, allNew), passes(time.Minute), func(w *world) { w.store.lose(nil, nil) }, passes(time.Minute)}, "RolledOut"},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.RolloutDeadline = deadline }
			w.usual()
			w.say(web, 1, allNew)
			w.settled()
			w.edit(alice, app, "2")
			w.pass(time.Second)
			for _, step := range c.steps {
				step(w)
			}
			w.pass(time.Second)
			recorded := strings.TrimSpace(strings.TrimSuffix(c.want, "Rolling"))
			if got := w.results(); got != recorded {
				t.Errorf("recorded are %q, want %q", got, recorded)
			}
			record, there := w.store.recordOf(webRef)
			if last := c.want[strings.LastIndex(c.want, " ")+1:]; there && record.Rollout != nil && string(record.Rollout.Result) != cmp.Or(last, "Rolling") {
				t.Errorf("the record says %+v, want %s", record.Rollout, last)
			}
		})
	}
}

// TestRolloutIsTold: each result is counted, the time of a whole rollout is measured, and a stalled one is complained of.
func TestRolloutIsTold(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		registry := prometheus.NewRegistry()
		w.configure = func(o *dispatcher.Options) { o.Registerer = registry }
		w.usual()
		w.say(web, 1, allNew)
		w.settled()
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.cluster.mu.Lock()
		w.cluster.stuck = "container main: ImagePullBackOff"
		w.cluster.mu.Unlock()
		w.say(web, 2, gaveUp)
		const cause = "its progress deadline is exceeded: pod pod-1: container main: ImagePullBackOff"
		record, _ := w.store.recordOf(webRef)
		if reloads := w.store.reloadsOf(webRef); record.Rollout.Message != cause || reloads[len(reloads)-1].Rollout.Message != cause {
			t.Errorf("the record says %+v, and the history %+v; want %s", record.Rollout, reloads[len(reloads)-1].Rollout, cause)
		}
		w.pass(time.Minute)
		w.say(web, 2, allNew)
		if diff := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP reroll_rollouts_total Results of rollouts after a reload. One that waits for an operator, or has stalled, may still roll out, and counts again then.
# TYPE reroll_rollouts_total counter
reroll_rollouts_total{result="Overtaken"} 0
reroll_rollouts_total{result="RolledOut"} 1
reroll_rollouts_total{result="Stalled"} 1
reroll_rollouts_total{result="WaitingForOperator"} 0
`), "reroll_rollouts_total"); diff != nil {
			t.Error(diff)
		}
		if n, sum := observed(t, registry, "reroll_rollout_duration_seconds"); n != 1 || sum < 60 || sum > 70 {
			t.Errorf("%d rollouts took %v s, want one of a minute", n, sum)
		}
		if len(w.store.problems) != 1 || !strings.Contains(w.store.problems[0], "has stalled: "+cause) {
			t.Errorf("complaints: %q", w.store.problems)
		}
	})
}

// observed returns how many values a histogram has, and their sum.
func observed(t testing.TB, registry *prometheus.Registry, name string) (count uint64, sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			h := f.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), h.GetSampleSum()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0, 0
}

// TestRevertedRollout: a tool that takes the mark away after the rollout starts all pods again, which is on record, and no process rolls for it.
func TestRevertedRollout(t *testing.T) {
	runWorld(t, "reverted", scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.say(web, 1, allNew)
		w.settled()
		older := w.copyOf()
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.say(web, 2, allNew)
		w.pass(time.Second)
		undone := func(want bool) {
			t.Helper()
			record, _ := w.store.recordOf(webRef)
			if r := record.Rollout; r == nil || r.Result != reloader.ReasonRolledOut || r.Undone != want {
				t.Errorf("%+v, want RolledOut, and undone %t", r, want)
			}
		}
		undone(false)
		w.undo(older)
		w.say(web, 3, allNew)
		w.pass(time.Second)
		undone(true)
		w.successor()
		undone(true)
		w.rolls(2) // one of ours, and that of the tool
		w.edit(alice, app, "3")
		w.pass(time.Second)
		w.say(web, 4, allNew)
		w.pass(time.Second)
		undone(false)
	})
}
