package dispatcher_test

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// unscheduled creates web with annotations, which needs all of ConfigMap app and whose pods Wave has kept from being scheduled.
func (w *world) unscheduled(annotations string) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, `
kind: Deployment
metadata: {name: web, annotations: {`+annotations+`}}
spec:
  template:
    spec:
      schedulerName: wave.pusher.com/invalid
      containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]`)))
}

const byOther = waveLists + `, wave.pusher.com/scheduling-disabled: other-scheduler`

// scheduledBy fails the test unless web's pods are those of a scheduler, and Wave's annotation is there only if that is none.
func (w *world) scheduledBy(scheduler string) {
	w.t.Helper()
	obj, _ := w.read(web)
	_, says := obj.GetAnnotations()[mark.SchedulingKey]
	if got := obj.(*appsv1.Deployment).Spec.Template.Spec.SchedulerName; got != scheduler || says && got != mark.NoScheduler {
		w.t.Errorf("schedulerName %q, annotations %v; want scheduler %q", got, obj.GetAnnotations(), scheduler)
	}
}

// TestReleasesWhatWaveLeft: pods that Wave kept from being scheduled are released as soon as Reroll sees them, whatever is missing and
// whatever is frozen. What changes after that rolls once.
func TestReleasesWhatWaveLeft(t *testing.T) {
	for name, c := range map[string]struct{ annotations, want string }{
		"with the scheduler before": {byOther, "other-scheduler"},
		"the annotation is gone":    {waveLists, "default-scheduler"},
	} {
		runWorld(t, name, scenario.Settings{}, func(_ *testing.T, w *world) {
			w.podStart = 2 * time.Second
			w.unscheduled(c.annotations)
			p := w.start()
			p.SetControl(control.Frozen(control.Freeze{}))
			w.pass(quiet)
			w.scheduledBy(c.want)
			w.rolled(web, 1)
			p.SetControl(control.Control{})
			w.give("app", "1")
			w.pass(time.Hour)
			w.rolled(web, 1)
			w.says(app, `{"data":{"a":"2"}}`)
			w.rolled(web, 2)
		})
	}
}

// TestReleaseIsTriedAgain: a refused write is tried again.
func TestReleaseIsTriedAgain(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
		w.failing(func(verb, _ string) error {
			if verb == "patch" {
				return errors.New("not now")
			}
			return nil
		})
		w.unscheduled(byOther)
		w.start()
		w.pass(time.Minute)
		w.scheduledBy(mark.NoScheduler)
		w.failing(nil)
		w.pass(10 * time.Minute)
		w.scheduledBy("other-scheduler")
		w.rolled(web, 1)
	})
}

// TestNotReleased: a workload that has not opted in is not written, and a dry run writes nothing.
func TestNotReleased(t *testing.T) {
	for name, c := range map[string]struct {
		annotations string
		dry         bool
	}{
		"not opted in": {`wave.pusher.com/scheduling-disabled: other-scheduler`, false},
		"dry run":      {byOther, true},
	} {
		runWorld(t, name, scenario.Settings{}, func(_ *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.DryRun = c.dry }
			w.unscheduled(c.annotations)
			w.start()
			w.pass(time.Hour)
			w.scheduledBy(mark.NoScheduler)
		})
	}
}
