package stakater_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// TestScenarios runs the data files, all of them nightly: those with the same flags share a process, each in namespaces of its own.
func TestScenarios(t *testing.T) {
	cases, err := stakater.Cases()
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]stakater.Case{}
	for _, c := range cases {
		groups[c.Group()] = append(groups[c.Group()], c)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if len(groups[name]) < leastOfGroup {
			continue
		}
		t.Run(cmp.Or(name, "no flags"), func(t *testing.T) { runGroup(t, groups[name]) })
	}
}

func runGroup(t *testing.T, group []stakater.Case) {
	p := newProcess(t, group)
	t.Run("together", func(t *testing.T) {
		for _, c := range group {
			if c.Alone() {
				continue
			}
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				p.run(t, c)
			})
		}
	})
	for _, c := range group {
		if c.Alone() {
			t.Run(c.Name, func(t *testing.T) { p.run(t, c) })
		}
	}
	if t.Failed() {
		t.Logf("reroll's log ends with:\n%s", tail(shared.Reroll.Log()))
	}
}

func tail(log string) string { return log[max(0, len(log)-6000):] }

// process is one reroll process with its flags, and with the namespaces that these name.
type process struct {
	flags, env []string
	namespaces map[string]string
}

// processes counts them, so that each has a store of its own.
var processes int

// startTime bounds the start of a process, and its end.
const startTime = time.Minute

// newProcess ends the process before, and starts the one that a group needs.
func newProcess(t *testing.T, group []stakater.Case) *process {
	t.Helper()
	p := &process{namespaces: map[string]string{}}
	for _, c := range group {
		p.makeNamespaces(t, c)
	}
	p.flags, p.env = p.named(group[0].Flags), p.named(group[0].Env)
	processes++
	p.flags = append([]string{"--data-dir", fmt.Sprintf("%s-%d", shared.DataDir(), processes), "--set", "debounce.window=0s"}, p.flags...)
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	if err := shared.Reroll.Terminate(ctx); err != nil {
		t.Error(err)
	}
	if err := p.start(ctx); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) start(ctx context.Context) error {
	shared.Reroll.SetEnvironment(p.env)
	if err := shared.Reroll.Start(p.flags...); err != nil {
		return err
	}
	return shared.Reroll.WaitReady(ctx)
}

// makeNamespaces makes those that a case wants before the process starts.
func (p *process) makeNamespaces(t *testing.T, c stakater.Case) {
	t.Helper()
	for name, labels := range c.Namespaces {
		if p.namespaces[name] != "" {
			continue
		}
		p.namespaces[name] = shared.Kube.Namespace(t)
		label(t, shared.Kube, p.namespaces[name], labels)
	}
}

func label(t *testing.T, cluster *kube.Cluster, namespace string, labels map[string]string) {
	t.Helper()
	object := &corev1.Namespace{}
	object.Name, object.Labels = namespace, labels
	object, err := cluster.Client().CoreV1().Namespaces().Update(t.Context(), object, metav1.UpdateOptions{})
	if err != nil {
		t.Fatalf("label namespace %s: %v", object.Name, err)
	}
}

// named puts the real names of namespaces into texts.
func (p *process) named(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		for name, real := range p.namespaces {
			text = strings.ReplaceAll(text, "{"+name+"}", real)
		}
		out = append(out, text)
	}
	return out
}

// run runs one case against the process.
func (p *process) run(t *testing.T, c stakater.Case) {
	w := world.New(t, shared, world.Options{Namespaces: p.namespaces, Restart: p.start})
	scenario.Run(t.Context(), t, c.Scenario, w)
}
