//go:build nightly

package stakater_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

const onePause = `
reason: a Deployment asks for a pause
given:
- {kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}
- kind: Deployment
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true", deployment.reloader.stakater.com/pause-period: 15s}}
  spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}
steps:
- do: [{patch: ConfigMap/app, with: {metadata: {labels: {x: "1"}}}}]
`

// TestPauseSurvivesAKill: a Deployment whose pause was begun by a process that is killed in the middle of it is resumed by the next
// one, once it is due and not before.
func TestPauseSurvivesAKill(t *testing.T) {
	const period = 15 * time.Second
	p := withFlags(t, nil)
	w := p.play(t, onePause)
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	defer cancel()
	if _, err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"2"}}`)); err != nil {
		t.Fatal(err)
	}
	since, err := time.Parse(time.RFC3339, awaitPaused(ctx, t, w, true).Annotations[pausedAt])
	if err != nil {
		t.Fatal(err)
	}
	shared.Reroll.Kill()
	if d := deploymentOf(ctx, t, w); !d.Spec.Paused {
		t.Fatal("the pause was over before the kill")
	}
	if err := p.start(ctx); err != nil {
		t.Fatal(err)
	}
	d := awaitPaused(ctx, t, w, false)
	if took := time.Since(since); took < period {
		t.Errorf("the pause of %s was over after %s", period, took)
	}
	if at, said := d.Annotations[pausedAt]; said {
		t.Errorf("it still says that it is paused since %s", at)
	}
	expectVariable(t, "Deployment/web", &d.Spec.Template, 0, theirName("app", "CONFIGMAP"), scenario.StakaterHash("a=2"))
}

// deploymentOf returns the Deployment web of a world.
func deploymentOf(ctx context.Context, t *testing.T, w *world.World) *appsv1.Deployment {
	t.Helper()
	d, err := shared.Kube.Client().AppsV1().Deployments(w.Namespace("main")).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// awaitPaused waits until the Deployment web is paused, or is not.
func awaitPaused(ctx context.Context, t *testing.T, w *world.World, paused bool) *appsv1.Deployment {
	t.Helper()
	var d *appsv1.Deployment
	err := line.Poll(ctx, func(ctx context.Context) error {
		if d = deploymentOf(ctx, t, w); d.Spec.Paused != paused {
			return fmt.Errorf("paused is %t, want %t", d.Spec.Paused, paused)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const oneCronJob = `
reason: a CronJob is there
given:
- {kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}
- kind: CronJob
  metadata: {name: nightly, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}}}
steps:
- do: [{patch: ConfigMap/app, with: {metadata: {labels: {x: "1"}}}}]
`

// TestCronJobAfterAKill: a process that is killed the moment it has made a Job of a CronJob leaves it to the next one to find out: there
// is one Job for each content.
func TestCronJobAfterAKill(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, oneCronJob)
	ctx, cancel := context.WithTimeout(t.Context(), 3*startTime)
	defer cancel()
	for content := range 3 {
		births := jobBirths(ctx, t, w)
		body := fmt.Appendf(nil, `{"data":{"a":"new %d"}}`, content)
		if _, err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], body); err != nil {
			t.Fatal(err)
		}
		if err := awaitBirth(ctx, births, "nightly"); err != nil {
			t.Fatal(err)
		}
		shared.Reroll.Kill()
		if err := p.start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Quiesce(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := w.Generation(ctx, "CronJob/nightly"); err != nil || n != int64(content)+2 {
			t.Fatalf("after content %d there are %d Jobs, %v; want one for each", content, n-1, err)
		}
	}
}

// jobBirths watches the Jobs of a world from now on.
func jobBirths(ctx context.Context, t *testing.T, w *world.World) watch.Interface {
	t.Helper()
	jobs := shared.Kube.Client().BatchV1().Jobs(w.Namespace("main"))
	now, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	births, err := jobs.Watch(ctx, metav1.ListOptions{ResourceVersion: now.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(births.Stop)
	return births
}

// awaitBirth waits until a Job of a CronJob is created.
func awaitBirth(ctx context.Context, births watch.Interface, cronJob string) error {
	for {
		select {
		case e, open := <-births.ResultChan():
			if !open {
				return errors.New("the watch has ended")
			}
			job, ok := e.Object.(*batchv1.Job)
			if !ok || e.Type != watch.Added {
				continue
			}
			if owner := metav1.GetControllerOf(job); owner != nil && owner.Name == cronJob {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("no Job of %s was created: %w", cronJob, ctx.Err())
		}
	}
}
