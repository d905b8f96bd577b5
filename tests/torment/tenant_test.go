// Package torment has the real binary suffer on a real API server: one namespace of workloads that are made to hurt next to ordinary ones, and a
// change of very many Secrets at once.
package torment

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// options set the size of a run.
type options struct {
	// Ordinary is the number of ordinary workloads, spread over Namespaces.
	Ordinary, Namespaces int
	// Crowd is the number of ConfigMaps, and of Secrets, that globs and selectors of the tenant match.
	Crowd int
	// Names is the number of names in a long list, and Keys that of keys in a wide ConfigMap.
	Names, Keys int
}

// memoryBound is what docs/production.md states.
const memoryBound = 1 << 30

// site is a run under way.
type site struct {
	options
	t      *testing.T
	l      *line.Line
	rolls  *line.Rolls
	edits  int
	memory int64
}

// TestTenant: next to a namespace of workloads that are made to hurt every ordinary workload rolls once for each edit, also after a restart.
func TestTenant(t *testing.T) {
	l, err := line.Start(t.Context(), line.Options{Kube: kube.Options{ControlPlaneOnly: true}})
	line.Must(t, err)
	t.Cleanup(l.Stop)
	s := &site{options: options{Ordinary: 40, Namespaces: 5, Crowd: 1200, Names: 50_000, Keys: 13_000}, t: t, l: l}
	s.createOrdinary()
	line.Eventually(t, "the baselines", s.settled)
	s.rolls, err = line.WatchRolls(t.Context(), l.Kube.Client(), "")
	s.must(err)
	t.Cleanup(s.rolls.Stop)

	h := &hostile{options: s.options, client: l.Kube.Client(), objects: dynamic.NewForConfigOrDie(l.Kube.RESTConfig())}
	s.must(h.createConfigs(t.Context()))
	s.must(h.createWorkloads(t.Context()))
	asked := s.silentWebhook()
	ctx, stop := context.WithCancel(t.Context())
	failure := make(chan error, 1)
	go func() { failure <- h.torment(ctx) }()
	line.Eventually(t, "the silent webhook to be asked", func(context.Context) error {
		if asked.Load() == 0 {
			return fmt.Errorf("it is not asked")
		}
		return nil
	})
	s.round()
	s.restart()
	s.round()
	stop()
	s.must(<-failure)

	for name, at := range s.rolls.Seen() {
		if strings.HasPrefix(name, "team-") && len(at) > s.edits {
			t.Errorf("%s rolled %d times for %d edits", name, len(at), s.edits)
		}
	}
	s.remember()
	if s.memory > memoryBound {
		t.Errorf("%d MB resident, more than %d", s.memory>>20, memoryBound>>20)
	}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// round edits the config of every ordinary workload and waits until all have rolled.
func (s *site) round() {
	s.t.Helper()
	s.editAll()
	s.must(s.rolls.Wait(s.t.Context(), "team-", s.Ordinary, s.edits))
}

// settled fails until Reroll knows what every ordinary workload runs with.
func (s *site) settled(ctx context.Context) error {
	known := 0
	for i := range s.Namespaces {
		settled, _, err := s.l.Reroll.Settled(ctx, s.place(i).namespace)
		if err != nil {
			return err
		}
		known += len(settled)
	}
	if known < s.Ordinary {
		return fmt.Errorf("%d of %d ordinary workloads have their baselines", known, s.Ordinary)
	}
	return nil
}

// restart ends the process in order, and returns when the next one is ready.
func (s *site) restart() {
	s.t.Helper()
	s.remember()
	s.room(s.place(0)).Restart()
}

// remember takes down how much memory the process has had resident at most.
func (s *site) remember() {
	s.t.Helper()
	_, most, err := s.l.Reroll.Memory()
	s.must(err)
	s.memory = max(s.memory, most)
}
