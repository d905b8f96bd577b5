package dispatcher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
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

// results returns what is recorded of the rollouts of web, for each reload that rolled it all that was recorded of it.
func (w *world) results() map[int][]reloader.Reason {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	var decided []time.Time
	found := map[int][]reloader.Reason{}
	for _, data := range w.store.reloads {
		r := decode[reloader.Reload](data)
		if r.Workload != webRef || r.Outcome != reloader.ReasonReloaded {
			continue
		}
		if r.Rollout == nil {
			decided = append(decided, r.DecidedAt)
			continue
		}
		at := slices.IndexFunc(decided, r.DecidedAt.Equal)
		if at < 0 || r.Rollout.EndedAt.Before(r.Rollout.StartedAt) || r.Rollout.StartedAt.IsZero() {
			w.t.Errorf("not a later word about a reload: %+v", r)
		}
		found[at] = append(found[at], r.Rollout.Result)
	}
	return found
}

// TestRollout: what is recorded of a rollout, by what happens after the patch.
func TestRollout(t *testing.T) {
	const (
		rolledOut  = reloader.ReasonRolledOut
		stalled    = reloader.ReasonStalled
		waiting    = reloader.ReasonWaitingForOperator
		overtaken  = reloader.ReasonOvertaken
		stillOn    = reloader.ReasonRolling
		deadlineIs = 10 * time.Minute
	)
	cases := map[string]struct {
		reason string
		after  func(w *world)
		// want is what is recorded of each reload, and last what the workload's record says.
		want map[int][]reloader.Reason
		last reloader.Reason
	}{
		"it rolls out": {
			"the usual", func(w *world) { w.say(web, 2, halfNew); w.say(web, 2, allNew) },
			map[int][]reloader.Reason{0: {rolledOut}},
			rolledOut,
		},
		"not begun": {
			"the pods are all of the revision before", func(w *world) { w.say(web, 1, allNew) }, map[int][]reloader.Reason{}, stillOn,
		},
		"it stalls": {
			"its own deadline has passed", func(w *world) { w.say(web, 2, gaveUp) }, map[int][]reloader.Reason{0: {stalled}}, stalled,
		},
		"it stalls, and rolls out": {
			"a node came back", func(w *world) { w.say(web, 2, gaveUp); w.say(web, 2, halfNew); w.say(web, 2, allNew) },
			map[int][]reloader.Reason{0: {stalled, rolledOut}},
			rolledOut,
		},
		"somebody else's template": {
			"a deployment in the middle of ours", func(w *world) { w.say(web, 2, halfNew); w.image(web, "next"); w.say(web, 3, halfNew) },
			map[int][]reloader.Reason{0: {overtaken}},
			overtaken,
		},
		"somebody scales it": {
			"another generation is not another template",
			func(w *world) { w.say(web, 2, halfNew); w.spec(web, `{"minReadySeconds":1}`); w.say(web, 2, allNew) },
			map[int][]reloader.Reason{0: {rolledOut}},
			rolledOut,
		},
		"the next change": {
			"each reload has its own end",
			func(w *world) {
				w.say(web, 2, halfNew)
				w.edit(alice, app, "3")
				w.pass(time.Second)
				w.say(web, 3, allNew)
			},
			map[int][]reloader.Reason{0: {overtaken}, 1: {rolledOut}},
			rolledOut,
		},
		"the content comes back during a pause": {
			"what is paused gets no revision, however long it is", func(w *world) {
				w.spec(web, `{"paused":true}`)
				w.say(web, 1, allOld)
				w.edit(alice, app, "1")
				w.pass(time.Second)
				w.say(web, 1, allNew)
			},
			map[int][]reloader.Reason{0: {waiting, overtaken}, 1: {rolledOut}},
			rolledOut,
		},
		"it waited, and stalls": {
			"somebody has let it go on, and from then on it has its time", func(w *world) {
				w.spec(web, `{"paused":true}`)
				w.say(web, 1, allOld)
				w.pass(deadlineIs * 2)
				w.spec(web, `{"paused":false}`)
				w.say(web, 2, halfNew)
				w.pass(deadlineIs - time.Minute)
				if record, _ := w.store.recordOf(webRef); record.Rollout.Result != stillOn || record.Rollout.Message != "" {
					w.t.Errorf("after it was resumed, the record says %+v", record.Rollout)
				}
				w.pass(time.Minute)
			},
			map[int][]reloader.Reason{0: {waiting, stalled}},
			stalled,
		},
		"it is paused, and resumed": {
			"that is no failure", func(w *world) {
				w.spec(web, `{"paused":true}`)
				w.say(web, 1, allOld)
				w.pass(deadlineIs * 2)
				w.spec(web, `{"paused":false}`)
				w.say(web, 2, halfNew)
				w.say(web, 2, allNew)
			},
			map[int][]reloader.Reason{0: {waiting, rolledOut}},
			rolledOut,
		},
		"no replicas": {
			"the next pods start with the new content", func(w *world) { w.spec(web, `{"replicas":0}`); w.say(web, 2, `"replicas":0`) },
			map[int][]reloader.Reason{0: {waiting}},
			waiting,
		},
		"the deadline": {
			"nobody else gives it up", func(w *world) { w.say(web, 2, halfNew); w.pass(deadlineIs) },
			map[int][]reloader.Reason{0: {stalled}},
			stalled,
		},
		"no controller": {
			"its own deadline never passes", func(w *world) { w.spec(web, `{"progressDeadlineSeconds":600}`); w.pass(deadlineIs) },
			map[int][]reloader.Reason{0: {stalled}},
			stalled,
		},
	}
	for name, c := range cases {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.RolloutDeadline = deadlineIs }
			w.usual()
			w.say(web, 1, allNew)
			w.settled()
			w.edit(alice, app, "2")
			w.pass(time.Second)
			c.after(w)
			w.pass(time.Second)
			if diff := cmp.Diff(c.want, w.results()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if record, _ := w.store.recordOf(webRef); record.Rollout == nil || record.Rollout.Result != c.last {
				t.Errorf("the record says %+v, want %s", record.Rollout, c.last)
			}
		})
	}
}

// TestRolloutOfWhatGoes: a workload that is deleted, or opts out, is not followed any more, and the reload says so.
func TestRolloutOfWhatGoes(t *testing.T) {
	for name, leave := range map[string]func(w *world){
		"deleted": func(w *world) { w.must(w.delete(alice, web)) },
		"opted out": func(w *world) {
			w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reloader.stakater.com/auto":null}}}`)))
		},
		"made anew": func(w *world) {
			w.stall()
			w.must(w.delete(alice, web))
			w.deploy("web", auto, "app")
			w.mu.Lock()
			w.late = w.late[1:] // the informer was away, and sees the new one alone
			w.mu.Unlock()
			w.catchUp()
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			w.edit(alice, app, "2")
			w.pass(time.Second)
			leave(w)
			w.pass(time.Second)
			if diff := cmp.Diff(map[int][]reloader.Reason{0: {reloader.ReasonOvertaken}}, w.results()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRolloutOutlivesARestart: who comes after goes on following, records the same reload once more, and keeps its deadline.
func TestRolloutOutlivesARestart(t *testing.T) {
	const deadline = 10 * time.Minute
	for name, c := range map[string]struct {
		meanwhile, after func(w *world)
		want             reloader.Reason
	}{
		"it ends later": {func(*world) {}, func(w *world) { w.say(web, 2, allNew) }, reloader.ReasonRolledOut},
		"the deadline is the old one": {
			func(w *world) { w.say(web, 2, halfNew); w.pass(deadline - time.Minute) }, func(w *world) { w.pass(2 * time.Minute) }, reloader.ReasonStalled,
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.RolloutDeadline = deadline }
			w.usual()
			w.say(web, 1, allNew)
			w.settled()
			w.edit(alice, app, "2")
			w.pass(time.Second)
			w.stop()
			c.meanwhile(w)
			w.start()
			c.after(w)
			w.pass(time.Second)
			if diff := cmp.Diff(map[int][]reloader.Reason{0: {c.want}}, w.results()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			w.rolled(web, 1)
		})
	}
}

// TestRolloutIsNotLostWithTheConnection: it is recorded when it can be.
func TestRolloutIsNotLostWithTheConnection(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.store.lose(nil, errLost)
		w.say(web, 2, allNew)
		w.pass(time.Minute)
		w.store.lose(nil, nil)
		w.pass(time.Minute)
		if diff := cmp.Diff(map[int][]reloader.Reason{0: {reloader.ReasonRolledOut}}, w.results()); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	})
}

// TestRolloutOfAPausePeriod: a pause that we ourselves began, and end, is not left to anybody.
func TestRolloutOfAPausePeriod(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.configure = func(o *dispatcher.Options) { o.RolloutDeadline = time.Minute }
		w.give("app", "1")
		w.deploy("web", auto+`, deployment.reloader.stakater.com/pause-period: "5m"`, "app")
		w.say(web, 1, allNew)
		w.settled()
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.say(web, 1, allOld)
		w.pass(2 * time.Minute)
		if got := w.results(); len(got) > 0 {
			t.Errorf("recorded during the pause: %v", got)
		}
		w.pass(3*time.Minute + 30*time.Second)
		w.say(web, 2, allNew)
		if diff := cmp.Diff(map[int][]reloader.Reason{0: {reloader.ReasonRolledOut}}, w.results()); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	})
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
		w.say(web, 2, gaveUp)
		w.pass(time.Minute)
		w.say(web, 2, allNew)
		if diff := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP reroll_rollouts_total Results of rollouts after a reload. One that waits for somebody, or has stalled, may still roll out, and counts again then.
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
		if len(w.store.problems) != 1 || !strings.Contains(w.store.problems[0], "has stalled: its progress deadline is exceeded") {
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

// TestControllerIsFasterThanTheAnswer: the controller has seen the new template, and said its last word, before the API server's answer
// to the patch arrives.
func TestControllerIsFasterThanTheAnswer(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.spec(web, `{"paused":true}`)
		w.settled()
		watched := w.cluster.watch
		w.cluster.watch = func(ref scenario.Ref, obj scenario.Typed) {
			watched(ref, obj)
			if d, ok := obj.(*appsv1.Deployment); ok {
				seen := d.DeepCopy()
				seen.Status.ObservedGeneration = seen.Generation
				watched(ref, seen)
			}
		}
		w.edit(alice, app, "2")
		w.pass(quiet)
		if diff := cmp.Diff(map[int][]reloader.Reason{0: {reloader.ReasonWaitingForOperator}}, w.results()); diff != "" {
			t.Errorf("results of the rollout (-want +got):\n%s", diff)
		}
	})
}
