package main

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/tests/line"
)

// rest is how long nothing happens between two edits.
const rest = 200 * time.Millisecond

// latency measures single edits: from the API server's answer to the writer until a watch shows the new template.
func (b *bench) latency(ctx context.Context) error {
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	if err := b.create(ctx, ns, "app", 1, optedIn); err != nil {
		return err
	}
	if err := b.waitTracked(ctx, ns, 1); err != nil {
		return err
	}
	before, err := b.requests(ctx)
	if err != nil {
		return err
	}
	took, err := b.edit(ctx, ns)
	if err != nil {
		return err
	}
	row("change → new template", "%s", percentiles(took))
	if err := b.costs(ctx, before, b.edits); err != nil {
		return err
	}
	if err := b.batchDelay(ctx, ns); err != nil {
		return err
	}
	return b.bareLatency(ctx)
}

func (b *bench) edit(ctx context.Context, ns string) ([]time.Duration, error) {
	rolled, err := line.WatchRolls(ctx, b.client, ns)
	if err != nil {
		return nil, err
	}
	defer rolled.Stop()
	var took []time.Duration
	for i := range b.edits {
		if err := b.setData(ctx, ns, "app", strconv.Itoa(i+1)); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := rolled.WaitTotal(ctx, i+1); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
		// Single edits: what follows a roll (Event, records) is over when the next one comes, and they must not fall into step with the API
		// server's batches.
		pause := time.NewTimer(rest + time.Duration(3+i*7%29)*time.Millisecond)
		<-pause.C
	}
	return took, nil
}

// bareLatency measures the least that a watching tool could take: a watch event and a patch, with nothing between.
func (b *bench) bareLatency(ctx context.Context) error {
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	if err := b.create(ctx, ns, "app", 1, nil); err != nil {
		return err
	}
	w, err := b.client.CoreV1().ConfigMaps(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=app"})
	if err != nil {
		return err
	}
	defer w.Stop()
	go func() {
		for event := range w.ResultChan() {
			if event.Type == watch.Modified {
				_ = b.barePatch(ctx, ns, "web-0", event.Object.(*corev1.ConfigMap).ResourceVersion) // a failure shows as a roll that never comes
			}
		}
	}()
	took, err := b.edit(ctx, ns)
	if err != nil {
		return err
	}
	row("  bare watch → patch loop", "%s", percentiles(took))
	return nil
}

func (b *bench) barePatch(ctx context.Context, ns, name, mark string) error {
	body := `{"spec":{"template":{"metadata":{"annotations":{"bare":"` + mark + `"}}}}}`
	_, err := b.client.AppsV1().Deployments(ns).Patch(ctx, name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

// batchDelay prints how long the API server kept events before it sent them, by the reloads' own times.
func (b *bench) batchDelay(ctx context.Context, ns string) error {
	reloads, err := b.line.Reroll.Reloads(ctx, ns)
	if err != nil {
		return err
	}
	var waited, ours, looked, patched []time.Duration
	for _, r := range reloads {
		cause := r.Causes[0]
		waited = append(waited, cause.ReceivedAt.Sub(cause.RequestedAt))
		ours = append(ours, r.PatchedAt.Sub(cause.ReceivedAt))
		looked = append(looked, cause.VerifiedAt.Sub(cause.ReceivedAt))
		patched = append(patched, r.PatchedAt.Sub(r.DecidedAt))
	}
	row("  of which in the API server's batch", "%s, mean %s", percentiles(waited), mean(waited))
	row("  of which in Reroll (window included)", "%s", percentiles(ours))
	row("    until the config has been read", "%s", percentiles(looked))
	row("    from the decision to the patch's answer", "%s", percentiles(patched))
	return nil
}
