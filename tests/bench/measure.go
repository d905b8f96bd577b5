package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/line"
)

// bench measures one line.
type bench struct {
	line   *line.Line
	client kubernetes.Interface
	rooms  int
}

// namespace makes a namespace of its own for one measurement.
func (b *bench) namespace(ctx context.Context) (string, error) {
	b.rooms++
	name := fmt.Sprintf("bench-%d", b.rooms)
	_, err := b.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return name, err
}

// rolls reports every change of a workload's spec in a namespace, as the API server's watch tells it. An informer follows, since the
// API server ends the watches of clients that it is too busy to serve.
func (b *bench) rolls(ctx context.Context, ns string) (<-chan string, func(), error) {
	ctx, stop := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(b.client, 0, informers.WithNamespace(ns))
	informer := factory.Apps().V1().Deployments().Informer()
	rolled := make(chan string, 8192)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
		if was, is := old.(*appsv1.Deployment), new.(*appsv1.Deployment); is.Generation > was.Generation {
			rolled <- is.Name
		}
	}})
	if err != nil {
		stop()
		return nil, nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		stop()
		return nil, nil, context.Cause(ctx)
	}
	return rolled, stop, nil
}

func await(ctx context.Context, rolled <-chan string, n int) error {
	for range n {
		select {
		case <-rolled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *bench) setData(ctx context.Context, ns, name, value string) error {
	_, err := b.client.CoreV1().ConfigMaps(ns).Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"k":"`+value+`"}}`), metav1.PatchOptions{})
	return err
}

func (b *bench) create(ctx context.Context, ns, config string, dependents int, annotations map[string]string) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config}, Data: map[string]string{"k": "0"}}
	if _, err := b.client.CoreV1().ConfigMaps(ns).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range dependents {
		g.Go(func() error {
			_, err := b.client.AppsV1().Deployments(ns).Create(ctx, deployment(fmt.Sprintf("web-%d", i), config, annotations), metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

func deployment(name, config string, annotations map[string]string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: "example.com/main",
					EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}}},
				}}},
			},
		},
	}
}

var optedIn = map[string]string{"reloader.stakater.com/auto": "true"}

// waitTracked waits until Reroll has a baseline for n workloads of a namespace.
func (b *bench) waitTracked(ctx context.Context, ns string, n int) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		settled, _, err := b.line.Reroll.Settled(ctx, ns)
		if err != nil {
			return err
		}
		if len(settled) != n {
			return fmt.Errorf("%d of %d workloads have a baseline", len(settled), n)
		}
		return nil
	})
}

// latency measures single edits: from the API server's answer to the writer until a watch shows the new template.
func (b *bench) latency(ctx context.Context, edits int) error {
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
	took, err := b.edit(ctx, ns, edits)
	if err != nil {
		return err
	}
	row("change → new template", "%s", percentiles(took))
	if err := b.costs(ctx, before, edits); err != nil {
		return err
	}
	if err := b.batchDelay(ctx, ns); err != nil {
		return err
	}
	return b.bareLatency(ctx, edits)
}

func (b *bench) edit(ctx context.Context, ns string, edits int) ([]time.Duration, error) {
	rolled, stop, err := b.rolls(ctx, ns)
	if err != nil {
		return nil, err
	}
	defer stop()
	var took []time.Duration
	for i := range edits {
		if err := b.setData(ctx, ns, "app", strconv.Itoa(i+1)); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := await(ctx, rolled, 1); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
		// Edits must not fall into step with the API server's batches.
		pause := time.NewTimer(time.Duration(3+i*7%29) * time.Millisecond)
		<-pause.C
	}
	return took, nil
}

// bareLatency measures the least that a watching tool could take: a watch event and a patch, with nothing between.
func (b *bench) bareLatency(ctx context.Context, edits int) error {
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
	took, err := b.edit(ctx, ns, edits)
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
	var waited, ours []time.Duration
	for _, r := range reloads {
		waited = append(waited, r.Causes[0].ReceivedAt.Sub(r.Causes[0].RequestedAt))
		ours = append(ours, r.PatchedAt.Sub(r.Causes[0].ReceivedAt))
	}
	row("  of which in the API server's batch", "%s, mean %s", percentiles(waited), mean(waited))
	row("  of which in Reroll (window included)", "%s", percentiles(ours))
	return nil
}

// fanOut measures one edit with many dependents until the last of them is patched, and then a bare loop of parallel patches.
func (b *bench) fanOut(ctx context.Context, dependents int) error {
	heading(fmt.Sprintf("one config, %d dependents", dependents))
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	if err := b.create(ctx, ns, "app", dependents, optedIn); err != nil {
		return err
	}
	if err := b.waitTracked(ctx, ns, dependents); err != nil {
		return err
	}
	var ours, bare []time.Duration
	const rounds = 3
	for round := range rounds {
		took, err := b.once(ctx, ns, dependents, func() error { return b.setData(ctx, ns, "app", strconv.Itoa(round+1)) })
		if err != nil {
			return err
		}
		ours = append(ours, took)
		if err := b.idle(ctx); err != nil {
			return err
		}
		took, err = b.once(ctx, ns, dependents, func() error { return b.bareLoop(ctx, ns, dependents, strconv.Itoa(round)) })
		if err != nil {
			return err
		}
		bare = append(bare, took)
	}
	slices.Sort(ours)
	slices.Sort(bare)
	row("change → last patch, median of 3", "%s", ms(ours[rounds/2]))
	row("  bare loop, 32 patches in parallel", "%s", ms(bare[rounds/2]))
	row("  ratio", "%.2f", float64(ours[rounds/2])/float64(bare[rounds/2]))
	return b.stages(ctx, ns, dependents)
}

// stages prints when each stage of the last fan-out was reached, by the reloads' own times.
func (b *bench) stages(ctx context.Context, ns string, dependents int) error {
	reloads, err := b.line.Reroll.Reloads(ctx, ns)
	if err != nil {
		return err
	}
	var first, last time.Duration
	reloads = reloads[:min(len(reloads), dependents)]
	for i, r := range reloads {
		took := r.PatchedAt.Sub(r.Causes[0].RequestedAt)
		if i == 0 || took < first {
			first = took
		}
		last = max(last, took)
	}
	c := reloads[0].Causes[0]
	row("  of the last round", "received %s, verified %s, first patch %s, last patch %s after the change",
		ms(c.ReceivedAt.Sub(c.RequestedAt)), ms(c.VerifiedAt.Sub(c.RequestedAt)), ms(first), ms(last))
	return nil
}

// once measures how long it takes until n workloads have rolled after cause. A watch event counts, ours or the bare loop's.
func (b *bench) once(ctx context.Context, ns string, n int, cause func() error) (time.Duration, error) {
	rolled, stop, err := b.rolls(ctx, ns)
	if err != nil {
		return 0, err
	}
	defer stop()
	start := time.Now()
	if err := cause(); err != nil {
		return 0, err
	}
	if err := await(ctx, rolled, n); err != nil {
		return 0, err
	}
	return time.Since(start), nil
}

func (b *bench) bareLoop(ctx context.Context, ns string, n int, mark string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i := range n {
		g.Go(func() error { return b.barePatch(ctx, ns, fmt.Sprintf("web-%d", i), mark) })
	}
	return g.Wait()
}

// idle waits until Reroll has no more Events to write, so that they do not disturb the bare loop.
func (b *bench) idle(ctx context.Context) error {
	last, since := -1.0, time.Now()
	return line.Poll(ctx, func(ctx context.Context) error {
		n, err := b.line.Kube.Metric(ctx, "apiserver_request_total", `resource="events"`)
		if err != nil {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < 300*time.Millisecond {
			return fmt.Errorf("events are still written")
		}
		return nil
	})
}

// memory prints Reroll's resident memory before and after many configs appear that nobody refers to.
func (b *bench) memory(ctx context.Context, configs int) error {
	heading(fmt.Sprintf("memory with %d ConfigMaps and %d Secrets of 20 KB that nobody refers to", configs, configs))
	before, err := residentMB(b.line.Reroll.PID())
	if err != nil {
		return err
	}
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	content := strings.Repeat("x", 20<<10)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range configs {
		g.Go(func() error {
			meta := metav1.ObjectMeta{Name: fmt.Sprintf("config-%d", i)}
			_, err := b.client.CoreV1().ConfigMaps(ns).Create(gctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": content}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			_, err = b.client.CoreV1().Secrets(ns).Create(gctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"k": content}}, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := b.idle(ctx); err != nil {
		return err
	}
	after, err := residentMB(b.line.Reroll.PID())
	if err != nil {
		return err
	}
	row("resident memory before, after", "%.0f MB, %.0f MB", before, after)
	return b.memoryAfterRestart(ctx)
}

func (b *bench) memoryAfterRestart(ctx context.Context) error {
	if err := b.line.Reroll.Terminate(ctx); err != nil {
		return err
	}
	if err := b.line.Reroll.Start(); err != nil {
		return err
	}
	if err := b.line.Reroll.WaitReady(ctx); err != nil {
		return err
	}
	restarted, err := residentMB(b.line.Reroll.PID())
	if err != nil {
		return err
	}
	row("  after a restart", "%.0f MB", restarted)
	return nil
}

func residentMB(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(text, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its memory", pid)
}

// watched are the requests whose number is counted.
var watched = map[string][]string{
	"config reads":     {`verb="GET"`, `resource="configmaps"`},
	"workload patches": {`verb="PATCH"`, `resource="deployments"`},
	"workload reads":   {`verb="GET"`, `resource="deployments"`},
	"events":           {`verb="POST"`, `resource="events"`},
}

func (b *bench) requests(ctx context.Context) (map[string]float64, error) {
	counts := map[string]float64{}
	for name, labels := range watched {
		n, err := b.line.Kube.Metric(ctx, "apiserver_request_total", labels...)
		if err != nil {
			return nil, err
		}
		counts[name] = n
	}
	return counts, nil
}

// costs prints the API requests that each reload took.
func (b *bench) costs(ctx context.Context, before map[string]float64, reloads int) error {
	if err := b.idle(ctx); err != nil {
		return err
	}
	after, err := b.requests(ctx)
	if err != nil {
		return err
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(watched)) {
		parts = append(parts, fmt.Sprintf("%.2f %s", (after[name]-before[name])/float64(reloads), name))
	}
	row("  API requests per reload", "%s", strings.Join(parts, ", "))
	return nil
}
