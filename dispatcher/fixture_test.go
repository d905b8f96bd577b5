package dispatcher_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const (
	app scenario.Ref = "ConfigMap/app"
	web scenario.Ref = "Deployment/web"
)

var (
	appConfig = reloader.Config{Kind: reloader.ConfigMap, Namespace: scenario.DefaultNamespace, Name: "app"}
	webRef    = reloader.WorkloadRef{Kind: "Deployment", Namespace: scenario.DefaultNamespace, Name: "web"}
	bob       = reloader.Actor{User: "bob", UserAgent: "argocd/v3", FieldManager: "argocd"}
)

const auto = `reloader.stakater.com/auto: "true"`

func object(t testing.TB, manifest string) scenario.Typed {
	t.Helper()
	var o scenario.Object
	if err := yaml.Unmarshal([]byte(manifest), &o); err != nil {
		t.Fatal(err)
	}
	return o.Typed
}

// give creates a ConfigMap with one key.
func (w *world) give(name, value string) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: %s}, data: {a: %q}}`, name, value))))
}

// deploy creates a Deployment with annotations that references a ConfigMap.
func (w *world) deploy(name, annotations, config string) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: %s, annotations: {%s}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: %s}}]}]}}}`, name, annotations, config))))
}

// edit gives the key of a ConfigMap a new value.
func (w *world) edit(by reloader.Actor, ref scenario.Ref, value string) {
	w.t.Helper()
	w.must(w.patch(by, ref, types.MergePatchType, fmt.Appendf(nil, `{"data":{"a":%q}}`, value)))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// rolled fails the test unless a workload's template has changed n times since it was created.
func (w *world) rolled(ref scenario.Ref, n int64) {
	w.t.Helper()
	if g := w.revision(ref); g != n+1 {
		w.t.Errorf("the template of %s changed %d times, want %d", ref, g-1, n)
	}
}

// outcomes counts the recorded reloads of a workload by outcome.
func (w *world) outcomes(ref reloader.WorkloadRef) map[reloader.Reason]int {
	counts := map[reloader.Reason]int{}
	for _, r := range w.store.reloadsOf(ref) {
		counts[r.Outcome]++
	}
	return counts
}

// usual creates what most tests start with: a ConfigMap, and a Deployment that asks for it.
func (w *world) usual() {
	w.t.Helper()
	w.give("app", "1")
	w.deploy("web", auto, "app")
}

// twoConfigs creates a Deployment with annotations that references app and other.
func (w *world) twoConfigs(first, second string) {
	w.t.Helper()
	w.give(first, "1")
	w.give(second, "1")
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: %s}}, {configMapRef: {name: %s}}]}]}}}`, auto, first, second))))
}

// restarted has the pods of a workload be made again, as when their node is lost.
func (w *world) restarted(ref scenario.Ref) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.cluster.started[ref] = time.Now()
}

// settled starts one more dispatcher and waits until all is quiet.
func (w *world) settled() *process {
	w.t.Helper()
	p := w.start()
	w.pass(quiet)
	return p
}

// usually is what most tests start with, and a dispatcher that has seen it.
func (w *world) usually() *process {
	w.t.Helper()
	w.usual()
	return w.settled()
}

// successor ends every dispatcher and starts one.
func (w *world) successor() *process {
	w.t.Helper()
	w.stop()
	return w.settled()
}

// rolls fails the test unless the template of web has changed n times when all is quiet.
func (w *world) rolls(n int64) {
	w.t.Helper()
	w.pass(quiet)
	w.rolled(web, n)
}

// edited gives app a new value, after which the template of web has changed n times.
func (w *world) edited(value string, n int64) {
	w.t.Helper()
	w.edit(alice, app, value)
	w.rolls(n)
}

// webNamed is webRef with another name.
func webNamed(name string) reloader.WorkloadRef {
	ref := webRef
	ref.Name = name
	return ref
}

var errLost = errors.New("connection lost")
