package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// Changes between a workload's opting in and the dispatcher's seeing it, of configs that nobody knew.

// wants creates a Deployment that names app as source of variables, in the words of source.
func (w *world) wants(source string) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {%s}}]}]}}}`, auto, source))))
}

// again deletes app and makes it anew.
func (w *world) again(value string) {
	w.t.Helper()
	w.must(w.delete(alice, app))
	w.pass(2 * time.Second)
	w.give("app", value)
}

// TestMadeAgainBeforeTheInformer: before the dispatcher learns of a workload, its config is deleted and made again. Its pods could not have
// started without the one of before.
func TestMadeAgainBeforeTheInformer(t *testing.T) {
	tests := map[string]struct {
		reason string
		act    func(w *world)
		want   int64
	}{
		"required": {
			"its pods have started, so that there was another one",
			func(w *world) { w.give("app", "1"); w.wants("name: app"); w.pass(5 * time.Second); w.again("2") }, 1,
		},
		"required, and an edit afterwards": {
			"whatever the last hint says",
			func(w *world) {
				w.give("app", "1")
				w.wants("name: app")
				w.pass(5 * time.Second)
				w.again("2")
				w.pass(5 * time.Second)
				w.edit(alice, app, "3")
			}, 1,
		},
		"optional": {
			"they may have started without any",
			func(w *world) { w.wants("name: app, optional: true"); w.pass(5 * time.Second); w.give("app", "1") }, 0,
		},
		"made once": {
			"its pods have waited for it",
			func(w *world) { w.wants("name: app"); w.pass(5 * time.Second); w.give("app", "1") }, 0,
		},
		"made again before its pods have started": {
			"they have seen nothing of the one of before",
			func(w *world) { w.podStart = time.Minute; w.give("app", "1"); w.wants("name: app"); w.again("2") }, 0,
		},
		"made again before it opted in": {
			"nobody asked for it then",
			func(w *world) {
				w.give("app", "1")
				w.deploy("web", "example.com/team: one", "app")
				w.pass(5 * time.Second)
				w.again("2")
				w.pass(5 * time.Second)
				w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reloader.stakater.com/auto":"true"}}}`)))
			}, 0,
		},
		"named while its pods ran": {
			"those of before did not need it, and the new ones wait for it",
			func(w *world) {
				w.must(w.create(alice, object(w.t, `
kind: Deployment
metadata: {name: web, annotations: {`+auto+`}}
spec: {template: {spec: {containers: [{name: main}]}}}`)))
				w.pass(time.Minute)
				w.must(w.patch(alice, web, types.StrategicMergePatchType,
					[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","envFrom":[{"configMapRef":{"name":"app"}}]}]}}}}`)))
				w.pass(5 * time.Second)
				w.give("app", "1")
			}, 1, // by alice
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.podStart = 2 * time.Second
				w.start()
				w.stall()
				test.act(w)
				w.pass(5 * time.Second)
				w.catchUp()
				w.pass(quiet)
				if g := w.revision(web); g != test.want+1 {
					t.Fatalf("%d template changes, want %d: %s", g-1, test.want, test.reason)
				}
				w.stop()
				w.start()
				w.pass(quiet)
				w.rolled(web, test.want)
				w.edit(alice, app, "last")
				w.pass(quiet)
				w.rolled(web, test.want+1)
			})
		})
	}
}

// TestMadeAgainAsItWas: another workload has its content of before on record.
func TestMadeAgainAsItWas(t *testing.T) {
	for value, want := range map[string]int64{"1": 0, "2": 1} {
		t.Run(value, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.podStart = 2 * time.Second
				w.give("app", "1")
				w.deploy("first", auto, "app")
				w.start()
				w.pass(quiet)
				w.stall()
				w.deploy("web", auto, "app")
				w.pass(5 * time.Second)
				w.again(value)
				w.pass(5 * time.Second)
				w.catchUp()
				w.pass(quiet)
				w.rolled(web, want)
				w.rolled("Deployment/first", want)
			})
		})
	}
}

// TestMadeTwiceBetweenLooks: a config that was absent was made, read by a pod, deleted and made again before anybody looked.
func TestMadeTwiceBetweenLooks(t *testing.T) {
	for name, lost := range map[string]bool{"all hints": false, "the last hint alone": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.podStart = 2 * time.Second
				w.deploy("web", auto, "app")
				w.start()
				w.stream.hold()
				w.give("app", "1")
				w.pass(10 * time.Second)
				w.again("2")
				w.pass(time.Second)
				hints := w.stream.take()
				if lost {
					hints = hints[len(hints)-1:]
				}
				w.stream.send(hints...)
				w.must(w.Quiesce(t.Context()))
				w.rolled(web, 1)
				if got := w.outcomes(webRef); got[reloader.ReasonReloaded] != 1 || len(got) != 1 {
					t.Errorf("outcomes %v, want one Reloaded", got)
				}
			})
		})
	}
}

// TestSlippedBehindAnotherHint: a change between a workload's opting in and the dispatcher's seeing it, of which the hint stored last says nothing.
func TestSlippedBehindAnotherHint(t *testing.T) {
	const label = `{"metadata":{"labels":{"x":"y"}}}`
	tests := map[string]struct {
		reason string
		act    func(w *world)
		want   int64
	}{
		"edited, and a name generated": {
			"what was made there is another one",
			func(w *world) { w.edit(alice, app, "2"); w.stream.send(w.generated(bob)) }, 1,
		},
		"a name generated": {
			"nobody has touched it",
			func(w *world) { w.stream.send(w.generated(bob)) }, 0,
		},
		"edited, and told again of what came before": {
			"the data says when it was written",
			func(w *world) { before := w.stream.last[appConfig]; w.edit(alice, app, "2"); w.stream.send(before) }, 1,
		},
		"edited, and the hint is lost or late": {
			"the managed fields tell, too",
			func(w *world) { clear(w.stream.last); w.deaf(); w.edit(alice, app, "2") }, 1,
		},
		"nothing, and no hint is kept of what came before": {
			"nothing was written since",
			func(w *world) { clear(w.stream.last) }, 0,
		},
		"told again of what came before": {
			"nothing was written since",
			func(w *world) { w.stream.send(w.stream.last[appConfig]) }, 0,
		},
		"a key taken away": {
			"managed fields keep no time of that, but nothing else explains the hint",
			func(w *world) { w.must(w.patch(alice, app, types.MergePatchType, []byte(`{"data":{"b":null}}`))) }, 1,
		},
		"a label": {
			"the managed fields say that no data was written",
			func(w *world) { w.must(w.patch(bob, app, types.MergePatchType, []byte(label))) }, 0,
		},
		"a request that changed nothing": {
			"the version is older than the workload's",
			func(w *world) { w.must(w.patch(bob, app, types.MergePatchType, []byte(`{}`))) }, 0,
		},
		"edited, and another deletes many": {
			"who deletes many may have deleted it",
			func(w *world) {
				w.edit(alice, app, "2")
				all := w.generated(bob)
				all.Verb, all.Code = reloader.VerbDeleteCollection, 200
				w.stream.send(all)
			}, 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.podStart = 2 * time.Second
				w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: app}, data: {a: "1", b: "1"}}`)))
				w.pass(time.Hour)
				w.start()
				w.stall()
				w.wants("name: app")
				w.pass(5 * time.Second)
				test.act(w)
				w.pass(5 * time.Second)
				w.catchUp()
				w.pass(quiet)
				if g := w.revision(web); g != test.want+1 {
					t.Fatalf("%d template changes, want %d: %s", g-1, test.want, test.reason)
				}
				w.stop()
				w.start()
				w.pass(quiet)
				w.rolled(web, test.want)
			})
		})
	}
}

// generated is the hint about a ConfigMap of which only the API server knows the name.
func (w *world) generated(by reloader.Actor) reloader.Hint {
	return reloader.Hint{
		Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: appConfig.Namespace}, Verb: reloader.VerbCreate,
		Source: reloader.SourceAudit, Actor: by, AuditID: "audit-generated", Code: 201, Time: time.Now(), Received: time.Now(),
	}
}

// TestBackAfterPodsHaveStarted: while a workload is held back its config changes, pods start, and the content is back. What is on record, and
// on the workload, is that content; but the pods have the one of between. Without such pods there is nothing to do.
func TestBackAfterPodsHaveStarted(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(w *world)
		rolls     int64
	}{
		"nothing started":  {func(*world) {}, 1},
		"pods were lost":   {func(w *world) { w.restarted(web) }, 2},
		"restarted before": {func(*world) {}, 1},
		"pods were lost, and it is made anew": {func(w *world) {
			w.restarted(web)
			w.pass(time.Minute)
			w.edit(alice, app, "2")
			w.pass(time.Minute)
			w.must(w.delete(alice, app))
			w.pass(time.Minute)
			w.give("app", "2")
			w.pass(time.Minute)
		}, 2},
	} {
		for _, strategy := range []string{"env-vars", "annotations"} {
			t.Run(name+", "+strategy, func(t *testing.T) {
				inWorld(t, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
					w.usual()
					p := w.start()
					w.pass(quiet)
					w.edit(alice, app, "2")
					w.pass(quiet)
					if name == "restarted before" {
						w.restarted(web)
						w.pass(time.Minute)
					}
					p.SetControl(control.Frozen(control.Freeze{}))
					w.edit(alice, app, "3")
					w.pass(time.Minute)
					test.meanwhile(w)
					w.pass(time.Minute)
					w.edit(alice, app, "2")
					w.pass(time.Minute)
					p.SetControl(control.Control{})
					w.pass(quiet)
					w.rolled(web, test.rolls)
					w.stop()
					w.start()
					w.pass(quiet)
					w.rolled(web, test.rolls)
				})
			})
		}
	}
}

// TestBackAfterTheEnd: the same, and who saw the content go away ended before it came back. What is on record of the workload is the content
// that is live, and who comes next looks once, and not at every start.
func TestBackAfterTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(w *world)
		rolls     int64
	}{
		"nothing started":      {func(*world) {}, 0},
		"pods were lost":       {func(w *world) { w.restarted(web) }, 1},
		"and it changed twice": {func(w *world) { w.restarted(web); w.pass(time.Minute); w.edit(alice, app, "3") }, 1},
		"and somebody saw both": {func(w *world) {
			w.restarted(web)
			w.pass(time.Minute)
			w.edit(alice, app, "3")
			w.start().SetControl(control.Frozen(control.Freeze{}))
			w.pass(quiet)
			w.stop()
		}, 1},
		"and somebody saw it come back and go again": {func(w *world) {
			w.restarted(web)
			w.pass(time.Minute)
			w.edit(alice, app, "1")
			w.start().SetControl(control.Frozen(control.Freeze{}))
			w.pass(quiet)
			w.edit(alice, app, "3")
			w.pass(time.Minute)
			w.stop()
		}, 1},
	} {
		for _, strategy := range []string{"env-vars", "annotations"} {
			t.Run(name+", "+strategy, func(t *testing.T) {
				inWorld(t, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
					w.usual()
					w.control = control.Frozen(control.Freeze{})
					w.start()
					w.pass(quiet)
					w.edit(alice, app, "2")
					w.pass(time.Minute)
					w.stop()
					test.meanwhile(w)
					w.pass(time.Minute)
					w.edit(alice, app, "1")
					w.pass(time.Minute)
					w.control = control.Control{}
					for range 3 {
						w.start()
						w.pass(quiet)
						w.rolled(web, test.rolls)
						w.stop()
					}
					if n := len(w.store.reloadsOf(webRef)); n != 1 {
						t.Errorf("%d reloads are on record, want one: Reverted, or what rolled it", n)
					}
				})
			})
		}
	}
}

// restarted has the pods of a workload be made anew, as when their node is lost.
func (w *world) restarted(ref scenario.Ref) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.cluster.started[ref] = time.Now()
}
