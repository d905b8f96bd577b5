//go:build nightly

package stakater_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

const oneJob = `
reason: a Job is there
given:
- {kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}
- kind: Job
  metadata: {name: once, labels: {test/refuse-create: "yes"}, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}
steps:
- do: [{patch: ConfigMap/app, with: {metadata: {labels: {x: "1"}}}}]
`

// TestJobIsNeverLost: a Job that cannot be created again, while a policy refuses it, is there with the new content once the policy
// is gone, also if Reroll was killed in between.
func TestJobIsNeverLost(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, oneJob)
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	defer cancel()
	if _, err := shared.Kube.Kubectl(ctx, "apply", "-f", "testdata/refuse-jobs.yaml"); err != nil {
		t.Fatal(err)
	}
	awaitRefusedJobs(ctx, t)
	if _, err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"2"}}`)); err != nil {
		t.Fatal(err)
	}
	awaitJob(ctx, t, w, false)
	shared.Reroll.Kill()
	if err := p.start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Kube.Kubectl(ctx, "delete", "-f", "testdata/refuse-jobs.yaml"); err != nil {
		t.Fatal(err)
	}
	awaitJob(ctx, t, w, true)
	template, err := w.Template(ctx, "Job/once")
	if err != nil {
		t.Fatal(err)
	}
	expectVariable(t, "Job/once", template, 0, theirName("app", "CONFIGMAP"), scenario.StakaterHash("a=2"))
}

// awaitRefusedJobs waits until the policy is in force.
func awaitRefusedJobs(ctx context.Context, t *testing.T) {
	t.Helper()
	err := line.Poll(ctx, func(ctx context.Context) error {
		if _, err := shared.Kube.Kubectl(ctx, "create", "--dry-run=server", "-f", "testdata/refused-job.yaml"); err == nil {
			return fmt.Errorf("jobs are not refused yet")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitJob waits until the Job is there, or is not.
func awaitJob(ctx context.Context, t *testing.T, w *world.World, there bool) {
	t.Helper()
	err := line.Poll(ctx, func(ctx context.Context) error {
		n, err := w.Generation(ctx, "Job/once")
		if err == nil && n > 0 != there {
			err = fmt.Errorf("the Job is there: %t, want %t", n > 0, there)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
