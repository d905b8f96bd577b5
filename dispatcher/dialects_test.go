package dispatcher_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const (
	sapLists       = `pod-reloader.cs.sap.com/configmaps: app`
	collaborneList = `reloader.k8s.collaborne.com/configmap: app`
	waveLists      = `wave.pusher.com/update-on-config-change: "true"`
)

// waveMark is what Wave writes for a ConfigMap app whose key a has that value.
func waveMark(value string) string {
	text := fmt.Sprintf(`{"configMaps":{"app":{"a":%q}},"secrets":{}}`, base64.StdEncoding.EncodeToString([]byte(value)))
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

func (w *world) templateAnnotation(key string) string {
	w.t.Helper()
	template, err := w.Template(w.t.Context(), web)
	w.must(err)
	return template.Annotations[key]
}

// TestMarksOfTools: whose marks are written, and a mark that is made of several configs.
func TestMarksOfTools(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"a workload without annotations of a tool gets no mark of one": func(t *testing.T, w *world) {
			w.give("app", "1")
			w.deploy("web", `reroll.dev/auto: "true"`, "app")
			w.settled()
			w.edited("2", 1)
			template, err := w.Template(t.Context(), web)
			w.must(err)
			env := template.Spec.Containers[0].Env
			if hash := template.Annotations[mark.HashKey]; len(template.Annotations) != 1 || hash == "" || len(env) != 1 || env[0].Name != mark.HashEnv || env[0].Value != hash {
				t.Errorf("annotations %v, variables %v", template.Annotations, env)
			}
		},
		// A config that is deleted and made again while the mark is made of it takes neither the workload with it nor what waits for it.
		"joint mark of what goes away": func(t *testing.T, w *world) {
			w.give("app", "1")
			w.give("more", "1")
			w.deploy("web", waveLists+`, wave.pusher.com/extra-configmaps: "more"`, "app")
			w.settled()
			w.edited("2", 1)
			var away atomic.Bool
			w.failing(func(verb, ref string) error {
				if verb == "get" && strings.HasSuffix(ref, "/more") && away.CompareAndSwap(false, true) {
					return notFound("ConfigMap/more")
				}
				return nil
			})
			w.edited("3", 2)
			if !away.Load() {
				t.Error("nobody read the other config")
			}
		},
	})
}

// TestMarkTellsNothingOfOtherNamespaces: a mark that is made of several configs together is made of those of other namespaces that are shared
// with the workload's. What the tool itself made of all of them proves as well that nothing has changed.
func TestMarkTellsNothingOfOtherNamespaces(t *testing.T) {
	made := func(share string) (value string) {
		inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
			w.must(w.create(alice, object(t, fmt.Sprintf(
				`{kind: ConfigMap, metadata: {name: kept, namespace: theirs, annotations: {reroll.dev/share-with: %s}}, data: {a: "1"}}`, share))))
			w.give("app", "1")
			w.deploy("web", `wave.pusher.com/update-on-config-change: "true", wave.pusher.com/extra-configmaps: theirs/kept`, "app")
			w.settled()
			w.edited("2", 1)
			value = w.templateAnnotation(dialect.WaveHashKey)
		})
		return value
	}
	if alone := waveMark("2"); made("another") != alone || made("main") == alone {
		t.Error("the mark is made of a config that is not shared, or not of one that is")
	}
}

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
	_, says := obj.GetAnnotations()[dialect.SchedulingKey]
	if got := obj.(*appsv1.Deployment).Spec.Template.Spec.SchedulerName; got != scheduler || says && got != dialect.NoScheduler {
		w.t.Errorf("schedulerName %q, annotations %v; want scheduler %q", got, obj.GetAnnotations(), scheduler)
	}
}

// TestReleasesWhatWaveLeft: pods that Wave kept from being scheduled are released as soon as a write succeeds, whatever is missing and whatever is
// frozen. What changes after that rolls once. What has not opted in is not written, and a dry run writes nothing.
func TestReleasesWhatWaveLeft(t *testing.T) {
	for name, c := range map[string]struct {
		annotations, want string
		dry               bool
	}{
		"with the scheduler before": {byOther, "other-scheduler", false},
		"the annotation is gone":    {waveLists, "default-scheduler", false},
		"not opted in":              {`wave.pusher.com/scheduling-disabled: other-scheduler`, dialect.NoScheduler, false},
		"dry run":                   {byOther, dialect.NoScheduler, true},
	} {
		runWorld(t, name, scenario.Settings{DryRun: c.dry}, func(_ *testing.T, w *world) {
			w.podStart = 2 * time.Second
			w.unscheduled(c.annotations)
			w.failing(only("patch", "", errLost))
			p := w.start()
			p.SetControl(control.Frozen(reloader.Pause{}))
			w.pass(time.Minute)
			w.scheduledBy(dialect.NoScheduler)
			w.failing(nil)
			w.pass(10 * time.Minute)
			w.scheduledBy(c.want)
			if c.want == dialect.NoScheduler {
				w.rolled(web, 0)
				return
			}
			p.SetControl(control.Control{})
			w.give("app", "1")
			w.pass(time.Hour)
			w.rolled(web, 1)
			w.says(app, `{"data":{"a":"2"}}`)
			w.rolled(web, 2)
		})
	}
}
