package nats

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// pairCount is how many configs there are, each with one workload, and editPause how long each edit is after the last.
const pairCount, editPause = 20, 150 * time.Millisecond

// sight is a pod template as the API server has shown it.
type sight struct {
	generation int64
	mark       string
}

// pairs are ConfigMaps, each with a Deployment of its name that uses it, and all that became of both.
type pairs struct {
	t    *testing.T
	line *line.Line
	ns   string
	// contents are the marks of all contents that the ConfigMap of each pair has had, oldest first; no two are equal. They belong to who edits.
	contents [][]string

	// stop ends the edits and waits for the last one.
	stop func()

	mu   sync.Mutex
	seen map[string][]sight
}

func pairName(i int) string { return fmt.Sprintf("p%02d", i) }

// newPairs makes them, watches them, and returns when Reroll knows all.
func newPairs(ctx context.Context, t *testing.T, l *line.Line) *pairs {
	t.Helper()
	p := &pairs{t: t, line: l, ns: l.Kube.Namespace(t), contents: make([][]string, pairCount), seen: map[string][]sight{}}
	w, err := l.Kube.Client().AppsV1().Deployments(p.ns).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var watching sync.WaitGroup
	watching.Go(func() { p.witness(w) })
	t.Cleanup(func() {
		w.Stop()
		watching.Wait()
	})
	for i := range pairCount {
		p.create(ctx, i)
	}
	for i := range pairCount {
		wait(ctx, t, l, func(ctx context.Context) error {
			n, err := l.Reroll.Baselines(ctx, p.ns, pairName(i))
			if err == nil && n != 1 {
				err = fmt.Errorf("%s has %d baselines", pairName(i), n)
			}
			return err
		})
	}
	return p
}

func (p *pairs) create(ctx context.Context, i int) {
	p.t.Helper()
	name := pairName(i)
	p.contents[i] = []string{markOf("0")}
	_, err := p.line.Kube.Client().CoreV1().ConfigMaps(p.ns).Create(ctx, pairConfig(name, "0"), metav1.CreateOptions{})
	if err == nil {
		_, err = p.line.Kube.Client().AppsV1().Deployments(p.ns).Create(ctx, line.Deployment(p.ns, name, map[string]string{"reloader.stakater.com/auto": "true"}, line.FromConfigMap(name)), metav1.CreateOptions{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func pairConfig(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": value}}
}

// markOf is the mark that stands for a value.
func markOf(value string) string { return scenario.StakaterHash("k=" + value) }

// give gives a ConfigMap a content that it has never had.
func (p *pairs) give(ctx context.Context, i int) {
	value := fmt.Sprint(len(p.contents[i]))
	if _, err := p.line.Kube.Client().CoreV1().ConfigMaps(p.ns).Update(ctx, pairConfig(pairName(i), value), metav1.UpdateOptions{}); err != nil {
		p.t.Errorf("edit %s: %v", pairName(i), err)
		return
	}
	p.contents[i] = append(p.contents[i], markOf(value))
}

// edit begins to edit one ConfigMap after the other, until stop.
func (p *pairs) edit(ctx context.Context) {
	editing, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(editPause)
		defer tick.Stop()
		for i := 0; ; i = (i + 1) % pairCount {
			select {
			case <-tick.C:
				p.give(ctx, i) // an edit that was begun is finished, so that it is known what the content is
			case <-editing.Done():
				return
			}
		}
	})
	p.stop = func() {
		cancel()
		work.Wait()
	}
	p.t.Cleanup(p.stop)
}

// witness notes every template that the API server shows.
func (p *pairs) witness(w watch.Interface) {
	for event := range w.ResultChan() {
		d, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		p.mu.Lock()
		p.seen[d.Name] = append(p.seen[d.Name], sight{d.Generation, templateMark(d)})
		p.mu.Unlock()
	}
}

// templateMark returns the mark in a template; empty if it has none.
func templateMark(d *appsv1.Deployment) string {
	env := d.Spec.Template.Spec.Containers[0].Env
	name := "STAKATER_" + strings.ToUpper(d.Name) + "_CONFIGMAP"
	if i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == name }); i >= 0 {
		return env[i].Value
	}
	return ""
}
