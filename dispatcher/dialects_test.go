package dispatcher_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const waveLists = `wave.pusher.com/update-on-config-change: "true"`

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
			template, err := w.Template(t.Context(), web)
			w.must(err)
			value = template.Annotations[dialect.WaveHashKey]
		})
		return value
	}
	// What Wave writes for a ConfigMap app whose key a has the value 2, which is Mg== in base64.
	alone := fmt.Sprintf("%x", sha256.Sum256([]byte(`{"configMaps":{"app":{"a":"Mg=="}},"secrets":{}}`)))
	if made("another") != alone || made("main") == alone {
		t.Error("the mark is made of a config that is not shared, or not of one that is")
	}
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
		runWorld(t, name, scenario.Settings{DryRun: c.dry}, func(t *testing.T, w *world) {
			w.podStart = 2 * time.Second
			w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+c.annotations+`}}
spec:
  template:
    spec:
      schedulerName: wave.pusher.com/invalid
      containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]`)))
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

// TestConsent: once a config is no longer shared, Reroll neither carries out nor records a pending change of it.
func TestConsent(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		const kept scenario.Ref = "Secret/theirs/kept"
		w.must(w.create(bob, object(t, `{kind: Secret, metadata: {name: kept, namespace: theirs, annotations: {reroll.dev/share-with: "*"}}, data: {a: MQ==}}`)))
		w.deploy("web", `reroll.dev/secrets: theirs/kept, reroll.dev/window: 1m`, "app")
		w.give("app", "1")
		w.settled()
		w.must(w.patch(bob, kept, types.MergePatchType, []byte(`{"data":{"a":"Mg=="}}`)))
		w.pass(30 * time.Second)
		w.must(w.patch(alice, kept, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/share-with":"another"}}}`)))
		w.pass(5 * time.Minute)
		w.rolled(web, 0)
		if got := w.store.reloadsOf(webRef); len(got) > 0 {
			t.Errorf("reloads are on record: %+v", got)
		}
		if r, _ := w.store.recordOf(webRef); r.Hold != nil || r.Edges[0].Pending != "" || r.Edges[0].Why != reloader.ReasonNotShared {
			t.Errorf("the record says %+v", r)
		}
	})
}

// TestFollowerThatReadsTheConfigRollsOnce: in the cluster of the config the same manifest asks for it twice, or does so if the config lets it, as it may
// from some time on.
func TestFollowerThatReadsTheConfigRollsOnce(t *testing.T) {
	const follow = "reroll.dev/follow: " + clusterName + "/" + scenario.DefaultNamespace + "/configmap/flags"
	for name, c := range map[string]struct{ workload, labels, annotations, later string }{
		"by itself":                    {workload: `, reroll.dev/auto: "true"`},
		"selected by a label it lacks": {workload: ", reroll.dev/configmap-selector: app=web", later: "labels: {app: web}"},
		"search with match": {
			workload: `, reloader.stakater.com/search: "true"`, annotations: `, reloader.stakater.com/match: "true"`,
			later: "annotations: {reloader.stakater.com/match: null}",
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.must(w.create(alice, object(t, fmt.Sprintf(
				`{kind: ConfigMap, metadata: {name: flags, labels: {%s}, annotations: {reroll.dev/followers: "*"%s}}, data: {a: "1"}}`, c.labels, c.annotations))))
			w.deploy("web", follow+c.workload, "flags")
			w.settled()
			w.edit(bob, "ConfigMap/flags", "2")
			w.pass(2 * time.Hour)
			w.rolled(web, 1)
			later, err := yaml.YAMLToJSON([]byte("metadata: {" + c.later + "}"))
			w.must(err)
			w.must(w.patch(bob, "ConfigMap/flags", types.MergePatchType, later))
			w.pass(2 * time.Hour)
			w.rolled(web, 1)
			w.edit(bob, "ConfigMap/flags", "3")
			w.pass(2 * time.Hour)
			w.rolled(web, 2)
		})
	}
}
