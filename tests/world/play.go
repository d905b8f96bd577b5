package world

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

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// PlayAll runs cases on a line: those with the same flags share a process, each in namespaces of its own. Groups of fewer than least are left out.
func PlayAll(t *testing.T, l *line.Line, cases []scenario.Case, least int) {
	groups := map[string][]scenario.Case{}
	for _, c := range cases {
		groups[c.Group()] = append(groups[c.Group()], c)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if len(groups[name]) >= least {
			t.Run(cmp.Or(name, "no flags"), func(t *testing.T) { playGroup(t, l, groups[name]) })
		}
	}
}

// playGroup plays first those that can run next to each other, and then those that stop the process.
func playGroup(t *testing.T, l *line.Line, group []scenario.Case) {
	p := NewProcess(t, l, group...)
	t.Run("together", func(t *testing.T) {
		for _, c := range group {
			if !c.Alone() {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					p.Play(t, c)
				})
			}
		}
	})
	for _, c := range group {
		if c.Alone() {
			t.Run(c.Name, func(t *testing.T) { p.Play(t, c) })
		}
	}
	if t.Failed() {
		t.Logf("reroll's log ends with:\n%s", l.Tail())
	}
}

// Process is one process of a line with flags of its own, and with the namespaces that these name.
type Process struct {
	line       *line.Line
	flags, env []string
	namespaces map[string]string
}

// processes counts them, so that each has a store of its own.
var processes int

// startTime bounds the start of a process, and its end.
const startTime = time.Minute

// NewProcess ends the process of a line, and starts the one that some cases need, which have the same flags.
func NewProcess(t *testing.T, l *line.Line, group ...scenario.Case) *Process {
	t.Helper()
	p := &Process{line: l, namespaces: map[string]string{}}
	for _, c := range group {
		p.makeNamespaces(t, c)
	}
	processes++
	p.env = p.named(group[0].Env)
	p.flags = append([]string{"--data-dir", fmt.Sprintf("%s-%d", l.DataDir(), processes), "--set", "debounce.window=0s"}, p.named(group[0].Flags)...)
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	if err := l.Reroll.Terminate(ctx); err != nil {
		t.Error(err)
	}
	line.Must(t, p.Start(ctx))
	return p
}

// Start starts the process again, with more flags, and returns when it is ready.
func (p *Process) Start(ctx context.Context) error {
	p.line.Reroll.SetEnvironment(p.env)
	if err := p.line.Reroll.Start(p.flags...); err != nil {
		return err
	}
	return p.line.Reroll.WaitReady(ctx)
}

// Play runs one case against the process, and returns its world.
func (p *Process) Play(t *testing.T, c scenario.Case) *World {
	t.Helper()
	w := New(t, p.line, Options{Namespaces: p.namespaces, Restart: p.Start, Pods: c.Pods})
	scenario.Run(t.Context(), t, c.Scenario, w)
	return w
}

// makeNamespaces makes those that a case wants before the process starts.
func (p *Process) makeNamespaces(t *testing.T, c scenario.Case) {
	t.Helper()
	for name, labels := range c.Namespaces {
		if p.namespaces[name] != "" {
			continue
		}
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.line.Kube.Namespace(t), Labels: labels}}
		if _, err := p.line.Kube.Client().CoreV1().Namespaces().Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		p.namespaces[name] = object.Name
	}
}

// named puts the real names of namespaces into texts.
func (p *Process) named(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		for name, real := range p.namespaces {
			text = strings.ReplaceAll(text, "{"+name+"}", real)
		}
		out = append(out, text)
	}
	return out
}

// Prepare gives a cluster the kinds of other vendors, and a policy by which writes of Deployments with the label test/refuse are refused.
func Prepare(ctx context.Context, l *line.Line) error {
	for _, args := range [][]string{
		{"apply", "-f", testdata + "crds"},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"},
		{"apply", "-f", testdata + "refuse.yaml"},
		{"apply", "-f", testdata + "refused.yaml"},
	} {
		if _, err := l.Kube.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return line.Poll(ctx, func(ctx context.Context) error {
		if _, err := l.Kube.Kubectl(ctx, "annotate", "--dry-run=server", "--overwrite", "--namespace=default", "deployment/refused", "try=it"); err == nil {
			return fmt.Errorf("writes of the Deployment refused are not refused yet")
		}
		return nil
	})
}

// testdata is where the suites find it.
const testdata = "../../testdata/"
