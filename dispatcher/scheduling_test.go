package dispatcher_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// unscheduled creates web with annotations, which needs all of ConfigMap app and key b of ConfigMap more, and whose pods nobody schedules.
func (w *world) unscheduled(annotations string) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, `
kind: Deployment
metadata: {name: web, annotations: {`+annotations+`}}
spec:
  template:
    metadata: {annotations: {reroll.dev/waits-for: 'ConfigMap/main/app'}}
    spec:
      schedulerName: wave.pusher.com/invalid
      containers:
      - name: main
        envFrom: [{configMapRef: {name: app}}]
        env: [{name: B, valueFrom: {configMapKeyRef: {name: more, key: b}}}]`)))
}

const byOther = waveLists + `, wave.pusher.com/scheduling-disabled: other-scheduler`

// scheduledBy fails the test unless web's pods are those of a scheduler, and nothing else is left of a hold, or all of it if there is none.
func (w *world) scheduledBy(scheduler string) {
	w.t.Helper()
	obj, _ := w.read(web)
	template := obj.(*appsv1.Deployment).Spec.Template
	_, says := obj.GetAnnotations()[strategy.SchedulingKey]
	_, waits := template.Annotations[strategy.WaitsForKey]
	held := scheduler == strategy.NoScheduler
	if template.Spec.SchedulerName != scheduler || says && !held || waits != held {
		w.t.Errorf("schedulerName %q, annotations %v and %v; want scheduler %q", template.Spec.SchedulerName, obj.GetAnnotations(), template.Annotations, scheduler)
	}
}

// TestUnscheduledStaysSeen: that edges are looked at anew ends no wait for what is missing.
func TestUnscheduledStaysSeen(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.unscheduled(byOther)
		w.start()
		w.pass(time.Hour)
		since := w.held(reloader.ReasonMissingConfig).Since
		for _, name := range []string{"one", "two"} {
			w.must(w.patch(bob, web, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"wave.pusher.com/extra-configmaps":%q}}}`, name)))
			w.pass(2 * time.Second)
			if hold := w.held(reloader.ReasonMissingConfig); !hold.Since.Equal(since) {
				t.Errorf("held since %s, want %s", hold.Since, since)
			}
		}
	})
}

// TestUnscheduledWaits: pods are scheduled once everything is there that they need, by one change of the template, with the mark in it, and
// what changes after that rolls once.
func TestUnscheduledWaits(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.unscheduled(byOther)
		w.start()
		w.pass(time.Hour)
		w.scheduledBy(strategy.NoScheduler)
		if hold := w.held(reloader.ReasonMissingConfig); hold.Message != "missing: ConfigMap/main/app, ConfigMap/main/more" {
			t.Errorf("hold %+v", hold)
		}
		w.give("app", "1")
		w.pass(time.Hour)
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {c: "1"}}`)))
		w.pass(time.Hour)
		if hold := w.held(reloader.ReasonMissingConfig); hold.Message != `missing: key "b" of ConfigMap/main/more` {
			t.Errorf("hold %+v", hold)
		}
		w.rolled(web, 0)
		w.says("ConfigMap/more", `{"data":{"b":"1"}}`)
		w.scheduledBy("other-scheduler")
		if len(w.templateAnnotation(strategy.WaveHashKey)) != 64 {
			t.Errorf("its mark is %q", w.templateAnnotation(strategy.WaveHashKey))
		}
		w.pass(time.Hour)
		w.rolled(web, 1)
		w.held("")
		w.says(app, `{"data":{"a":"2"}}`)
		w.rolled(web, 2)
	})
}

// TestScheduledByOthers: whose scheduler somebody has named runs, and is not rolled for what else is left of a hold.
func TestScheduledByOthers(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.unscheduled(byOther)
		w.says(web, `{"spec":{"template":{"spec":{"schedulerName":"new"}}}}`)
		before, _ := w.Generation(t.Context(), web)
		w.give("app", "1")
		w.must(w.create(alice, object(w.t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "1"}}`)))
		w.start()
		w.pass(time.Hour)
		if after, _ := w.Generation(t.Context(), web); after != before {
			t.Errorf("its template has changed %d times", after-before)
		}
		w.held("")
	})
}

// TestUnscheduledByHalf: what is left of a hold is taken away.
func TestUnscheduledByHalf(t *testing.T) {
	for name, c := range map[string]struct{ annotations, patch, want string }{
		"the annotation is gone":        {waveLists, `{}`, "default-scheduler"},
		"it says nothing":               {waveLists + `, wave.pusher.com/scheduling-disabled: ""`, `{}`, "default-scheduler"},
		"it says the same":              {waveLists + `, wave.pusher.com/scheduling-disabled: wave.pusher.com/invalid`, `{}`, "default-scheduler"},
		"the pods say nothing any more": {byOther, `{"spec":{"template":{"metadata":{"annotations":null}}}}`, "other-scheduler"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
				w.unscheduled(c.annotations)
				w.says(web, c.patch)
				w.give("app", "1")
				w.must(w.create(alice, object(w.t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "1"}}`)))
				w.start()
				w.pass(quiet)
				w.scheduledBy(c.want)
			})
		})
	}
}

// TestUnscheduledOptsOut: who does not ask for it any more waits for nothing, whatever is missing, and so does who is left alone.
func TestUnscheduledOptsOut(t *testing.T) {
	for name, patch := range map[string]string{
		"opted out":            `{"metadata":{"annotations":{"wave.pusher.com/update-on-config-change":null}}}`,
		"for another tool":     `{"metadata":{"annotations":{"wave.pusher.com/update-on-config-change":null,"reroll.dev/auto":"true"}}}`,
		"ignored":              `{"metadata":{"annotations":{"reroll.dev/ignore":"true"}}}`,
		"everything optional":  `{"spec":{"template":{"spec":{"containers":[{"name":"main"}]}}}}`,
		"not exactly opted in": `{"metadata":{"annotations":{"wave.pusher.com/update-on-config-change":"True"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
				w.unscheduled(byOther)
				w.start()
				w.pass(quiet)
				w.scheduledBy(strategy.NoScheduler)
				w.says(web, patch)
				w.scheduledBy("other-scheduler")
			})
		})
	}
}

// TestUnscheduledWhileDown: what comes while nobody looks, or is never told of, lets the pods go all the same, and a freeze keeps none of them.
func TestUnscheduledWhileDown(t *testing.T) {
	complete := func(w *world) {
		w.give("app", "1")
		w.must(w.create(alice, object(w.t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "1"}}`)))
	}
	for name, come := range map[string]func(w *world){
		"while it is down": func(w *world) {
			w.stop()
			complete(w)
			w.start()
			w.pass(quiet)
		},
		"without a hint": func(w *world) {
			w.deaf()
			complete(w)
			w.pass(2 * time.Minute)
		},
		"while writes are refused": func(w *world) {
			w.failing(func(verb, _ string) error {
				if verb == "patch" {
					return errors.New("not now")
				}
				return nil
			})
			complete(w)
			w.pass(time.Minute)
			w.scheduledBy(strategy.NoScheduler)
			w.failing(nil)
			w.pass(10 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
				w.unscheduled(byOther)
				p := w.start()
				p.SetControl(control.Frozen(control.Freeze{}))
				w.pass(quiet)
				come(w)
				w.scheduledBy("other-scheduler")
				w.rolled(web, 1)
			})
		})
	}
}

// TestUnscheduledInADryRun: it writes nothing.
func TestUnscheduledInADryRun(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
		w.configure = func(o *dispatcher.Options) { o.DryRun = true }
		w.unscheduled(`wave.pusher.com/scheduling-disabled: other-scheduler`)
		w.start()
		w.pass(time.Hour)
		w.scheduledBy(strategy.NoScheduler)
	})
}
