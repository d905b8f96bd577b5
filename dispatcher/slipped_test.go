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

// TestMadeAgainAsItWas: a workload that nobody has seen before rolls for it once, since nobody knows what it was when its pods started. Another one that was
// brought to the same content does not.
func TestMadeAgainAsItWas(t *testing.T) {
	for value, others := range map[string]int64{"1": 0, "2": 1} {
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
				w.rolled(web, 1)
				w.rolled("Deployment/first", others)
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

// generated is the hint about a ConfigMap of which only the API server knows the name.
func (w *world) generated(by reloader.Actor) reloader.Hint {
	return reloader.Hint{
		Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: appConfig.Namespace}, Verb: reloader.VerbCreate,
		Source: reloader.SourceAudit, Actor: by, AuditID: "audit-generated", Code: 201, Time: time.Now(), Received: time.Now(),
	}
}

// TestBackAfterPodsHaveStarted: while a workload is held back its config changes, pods start, and the content is back. What is on record, and
// on the workload, is that content; but the pods have the one of between. Without such pods there is nothing to do. A pod that started after the last look
// that found the content may have either: it is rolled once more.
func TestBackAfterPodsHaveStarted(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(w *world)
		rolls     int64
	}{
		"nothing started":  {func(*world) {}, 1},
		"pods were lost":   {func(w *world) { w.restarted(web) }, 2},
		"restarted before": {func(*world) {}, 2}, // X8: the pods may have started after it left
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

// restarted has the pods of a workload be made anew, as when their node is lost.
func (w *world) restarted(ref scenario.Ref) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.cluster.started[ref] = time.Now()
}
