package stakater_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/scenario"
)

const brkMarked = `
reason: x
given: []
steps:
- do:
  - {create: {kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}}
  - {create: {kind: Deployment, metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}, spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}], env: [{name: STAKATER_APP_CONFIGMAP, value: 86eda770a6060824b090dd4df091e3bd4121279c}]}]}}}}}
  expect: {}
`

// swap: dry run observes; the other reloader is stopped; a change; then the upgrade.
func TestBreakBSwap(t *testing.T) {
	p := withFlags(t, nil, "--dry-run")
	s, _ := scenario.Parse("x", []byte(brkMarked))
	_ = s
	w := p.play(t, strings.Replace(brkMarked, "reason: x", "reason: swap", 1))
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	defer cancel()
	if err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Quiesce(ctx); err != nil {
		t.Log("quiesce:", err)
	}
	if err := shared.Reroll.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	p.flags = append(p.flags, "--dry-run=false")
	if err := p.start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.Quiesce(ctx); err != nil {
		t.Log("quiesce:", err)
	}
	got, err := w.Generation(ctx, "Deployment/web")
	t.Logf("BREAK swap: generation after the swap is %d (want 2), %v", got, err)
	if got != 2 {
		t.Error("BREAK: the change made between scale-down and upgrade was never rolled")
	}
}

func TestBreakBCollisionAdopt(t *testing.T) {
	p := withFlags(t, nil)
	p.play(t, `
reason: adoption of a workload that uses a.b and a-b rolls nothing
given: []
steps:
- do:
  - {create: {kind: ConfigMap, metadata: {name: a.b}, data: {a: "1"}}}
  - {create: {kind: ConfigMap, metadata: {name: a-b}, data: {a: "2"}}}
  - {create: {kind: Deployment, metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}, spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: a.b}}, {configMapRef: {name: a-b}}], env: [{name: STAKATER_A_B_CONFIGMAP, value: 86eda770a6060824b090dd4df091e3bd4121279c}]}]}}}}}
  down: true
  expect: {}
`)
}

func TestBreakBLargeList(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, strings.Replace(oneEdit, `reloader.stakater.com/auto: "true"`, `configmap.reloader.stakater.com/reload: app`, 1))
	list := strings.Repeat("no-such-config-([a-z]+|[0-9]*), ", 7000) + "app"
	if err := w.Patch(t.Context(), "Deployment/web", scenario.PatchTypes["merge"], []byte(`{"metadata":{"annotations":{"configmap.reloader.stakater.com/reload":"`+list+`"}}}`)); err != nil {
		t.Fatal(err)
	}
	before, _ := w.Generation(t.Context(), "Deployment/web")
	if err := w.Patch(t.Context(), "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, _ := w.Generation(t.Context(), "Deployment/web")
	t.Logf("BREAK list: %d -> %d", before, after)
	if after != before+1 {
		t.Error("BREAK: a list as long as an annotation can be is not read")
	}
}
