package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// startTime bounds the start of a process, and its end.
const startTime = time.Minute

// TestScenarios runs every data file: those with the same flags share a process, each in namespaces of its own.
func TestScenarios(t *testing.T) {
	cases, err := Cases("..")
	if err != nil {
		t.Fatal(err)
	}
	playAll(t, slices.DeleteFunc(cases, func(c Case) bool { return c.Pods }), kube.Options{ControlPlaneOnly: true})
}

// TestScenariosWithPods runs those about workloads whose pods run, where controllers see to that.
func TestScenariosWithPods(t *testing.T) {
	cases, err := Cases("..")
	if err != nil {
		t.Fatal(err)
	}
	playAll(t, slices.DeleteFunc(cases, func(c Case) bool { return !c.Pods }), kube.Options{})
}

// playAll starts a line and plays cases on it.
func playAll(t *testing.T, cases []Case, o kube.Options) {
	o.Audit = &kube.Audit{InitialBackoff: time.Second}
	l, err := line.Start(t.Context(), line.Options{Kube: o})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	if err := errors.Join(openShift(t.Context(), l.Kube), refuse(t.Context(), l.Kube)); err != nil {
		t.Fatal(err)
	}
	groups := map[string][]Case{}
	for _, c := range cases {
		groups[c.Group()] = append(groups[c.Group()], c)
	}
	for i, name := range slices.Sorted(maps.Keys(groups)) {
		p := &process{Line: l, flags: append([]string{"--data-dir", fmt.Sprintf("%s-%d", l.DataDir(), i), "--set", "debounce.window=0s"}, groups[name][0].Flags...)}
		t.Run(cmp.Or(name, "no flags"), func(t *testing.T) { p.run(t, groups[name]) })
	}
}

// openShift gives a cluster the DeploymentConfigs of OpenShift.
func openShift(ctx context.Context, cluster *kube.Cluster) error {
	if _, err := cluster.Kubectl(ctx, "apply", "-f", "../../testdata/crds/deploymentconfigs.apps.openshift.io.yaml"); err != nil {
		return err
	}
	_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	return err
}

// refuse has the API server refuse writes of Deployments with the label test/refuse, and waits until it does.
func refuse(ctx context.Context, cluster *kube.Cluster) error {
	for _, file := range []string{"refuse.yaml", "refused.yaml"} {
		if _, err := cluster.Kubectl(ctx, "apply", "-f", "../stakater/testdata/"+file); err != nil {
			return err
		}
	}
	return line.Poll(ctx, func(ctx context.Context) error {
		_, err := cluster.Kubectl(ctx, "annotate", "--dry-run=server", "--overwrite", "--namespace=default", "deployment/refused", "try=it")
		if err == nil {
			return errors.New("writes of the Deployment refused are not refused yet")
		}
		return nil
	})
}

// process is one reroll process with its flags.
type process struct {
	*line.Line
	flags []string
}

// run ends the process before, and runs cases with one of p's flags: first those that can run next to each other.
func (p *process) run(t *testing.T, cases []Case) {
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	if err := p.Reroll.Terminate(ctx); err != nil {
		t.Error(err)
	}
	if err := p.start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Run("together", func(t *testing.T) {
		for _, c := range cases {
			if !c.Alone() {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					p.play(t, c)
				})
			}
		}
	})
	for _, c := range cases {
		if c.Alone() {
			t.Run(c.Name, func(t *testing.T) { p.play(t, c) })
		}
	}
	if t.Failed() {
		log := p.Reroll.Log()
		t.Logf("reroll's log ends with:\n%s", log[max(0, len(log)-6000):])
	}
}

func (p *process) start(ctx context.Context) error {
	if err := p.Reroll.Start(p.flags...); err != nil {
		return err
	}
	return p.Reroll.WaitReady(ctx)
}

func (p *process) play(t *testing.T, c Case) {
	w := world.New(t, p.Line, world.Options{Restart: p.start})
	if c.Pods {
		scenario.Run(t.Context(), t, c.Scenario, running{w, p.Line.Kube})
		return
	}
	scenario.Run(t.Context(), t, c.Scenario, w)
}

// running is a world in which everything has come to an end only when all pods run.
type running struct {
	*world.World
	cluster *kube.Cluster
}

// Quiesce returns when Reroll has nothing left to do, and the controllers of Deployments have not either.
func (w running) Quiesce(ctx context.Context) error {
	if err := w.World.Quiesce(ctx); err != nil {
		return err
	}
	_, err := w.cluster.Kubectl(ctx, "rollout", "status", "deployment", "--namespace="+w.Namespace(scenario.DefaultNamespace), "--timeout="+startTime.String())
	return err
}

// TestTheTableIsWhole: every tool has cases of both kinds, and no name comes twice.
func TestTheTableIsWhole(t *testing.T) {
	cases, err := Cases("..")
	if err != nil {
		t.Fatal(err)
	}
	kept, fixed, names := map[Tool]int{}, map[Tool]int{}, map[string]bool{}
	for _, c := range cases {
		if c.Ours == "" {
			kept[c.Tool]++
		} else {
			fixed[c.Tool]++
		}
		if names[c.Name] {
			t.Errorf("%s comes twice", c.Name)
		}
		names[c.Name] = true
		if file, test, said := strings.Cut(c.Also, ":"); said {
			text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
			if err != nil || !strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)") {
				t.Errorf("%s: there is no test %s: %v", c.Name, c.Also, err)
			}
		} else if c.Also != "" {
			t.Errorf("%s: %q is no file and test", c.Name, c.Also)
		}
	}
	for _, tool := range Tools {
		if kept[tool] == 0 || fixed[tool] == 0 {
			t.Errorf("%s: %d are kept and %d fixed", tool.Title, kept[tool], fixed[tool])
		}
	}
}
