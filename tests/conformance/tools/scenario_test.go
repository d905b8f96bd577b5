package tools

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
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
	l, err := line.Start(t.Context(), line.Options{Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	groups := map[string][]Case{}
	for _, c := range cases {
		groups[c.Group()] = append(groups[c.Group()], c)
	}
	for i, name := range slices.Sorted(maps.Keys(groups)) {
		p := &process{Line: l, flags: append([]string{"--data-dir", fmt.Sprintf("%s-%d", l.DataDir(), i), "--coalesce-window", "0s"}, groups[name][0].Flags...)}
		t.Run(cmp.Or(name, "no flags"), func(t *testing.T) { p.run(t, groups[name]) })
	}
}

// process is one reroll process with its flags.
type process struct {
	*line.Line
	flags []string
}

// run ends the process before, and runs cases with one of p's flags: first those that can run beside each other.
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
	scenario.Run(t.Context(), t, c.Scenario, w)
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
	}
	for _, tool := range Tools {
		if kept[tool] == 0 || fixed[tool] == 0 {
			t.Errorf("%s: %d are kept and %d fixed", tool.Title, kept[tool], fixed[tool])
		}
	}
}
