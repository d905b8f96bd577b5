// Package tenant runs one namespace of workloads that are made to hurt next to many ordinary ones, on a real API server with the real
// binary. It shows what the hostile tenant costs the others, against a control run in the same cluster before the tenant comes.
package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// Timed judges how long it all takes, which says something on a quiet machine alone.
	Timed bool
}

// sizes are by what HOSTILE says.
var sizes = map[string]options{
	"":     {Ordinary: 40, Namespaces: 5, Crowd: 1200, Names: 50_000, Keys: 13_000},
	"full": {Ordinary: 200, Namespaces: 10, Crowd: 5000, Names: 50_000, Keys: 13_000, Timed: true},
}

// What must hold next to the tenant. The times are those of a machine with little else to do; on a busy one the control run tells how
// slow it is.
const (
	// window is the default of --coalesce-window, and rollWithin the time after it in which every ordinary workload rolls.
	window, rollWithin = time.Second, 2 * time.Second
	// readyWithin is the time in which a started process is ready.
	readyWithin = 10 * time.Second
	// slower is how many times as long as in the control run it may take, where that is more.
	slower = 3
	// memoryBound is what docs/production.md states.
	memoryBound = 1 << 30
)

// site is a run under way.
type site struct {
	options
	t      *testing.T
	l      *line.Line
	rolls  *line.Rolls
	edits  int
	memory int64
}

// TestTenant: next to a namespace of workloads that are made to hurt every ordinary workload rolls once, a restart gets ready, and each of the
// hostile ones says what is wrong with it.
func TestTenant(t *testing.T) {
	l, err := line.Start(t.Context(), line.Options{Kube: kube.Options{ControlPlaneOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	s := &site{options: sizes[os.Getenv("HOSTILE")], t: t, l: l}
	s.must(s.createOrdinary(t.Context()))
	line.Eventually(t, "the baselines", s.settled)
	s.rolls, err = line.WatchRolls(t.Context(), l.Kube.Client(), "")
	s.must(err)
	t.Cleanup(s.rolls.Stop)
	alone := s.round("without the tenant")
	readyAlone := s.restart()

	h := &hostile{options: s.options, client: l.Kube.Client()}
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
	beside := s.round("next to the tenant")
	readyBeside := s.restart()
	after := s.round("after the restart")
	s.hear()
	stop()
	s.must(<-failure)

	for name, at := range s.rolls.Seen() {
		if strings.HasPrefix(name, "team-") && len(at) > s.edits {
			t.Errorf("%s rolled %d times for %d edits", name, len(at), s.edits)
		}
	}
	s.remember()
	t.Logf("ready after %s, and next to the tenant after %s; at most %d MB resident", readyAlone, readyBeside, s.memory>>20)
	if s.memory > memoryBound {
		t.Errorf("%d MB resident, more than %d", s.memory>>20, memoryBound>>20)
	}
	if !s.Timed {
		return
	}
	if most := max(window+rollWithin, slower*alone); max(beside, after) > most {
		t.Errorf("the slowest ordinary workload rolled %s after its edit, more than %s", max(beside, after), most)
	}
	if most := max(readyWithin, slower*readyAlone); readyBeside > most {
		t.Errorf("ready after %s, more than %s", readyBeside, most)
	}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// round edits the config of every ordinary workload, waits until all have rolled, and returns the longest time that took one of them.
func (s *site) round(name string) time.Duration {
	s.t.Helper()
	edited, err := s.editAll(s.t.Context())
	s.must(err)
	s.must(s.rolls.Wait(s.t.Context(), "team-", s.Ordinary, s.edits))
	var took []time.Duration
	for name, at := range s.rolls.Seen() {
		if edit, ours := edited[name]; ours {
			took = append(took, at[s.edits-1].Sub(edit))
		}
	}
	slices.Sort(took)
	s.t.Logf("%s: median %s, slowest %s from an edit to the roll, the window included", name, took[len(took)/2], took[len(took)-1])
	return took[len(took)-1]
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

// restart ends the process in order, and returns how long the next one takes until it is ready.
func (s *site) restart() time.Duration {
	s.t.Helper()
	s.remember()
	s.must(s.l.Reroll.Terminate(s.t.Context()))
	began := time.Now()
	s.must(s.l.Reroll.Start())
	s.must(s.l.Reroll.WaitReady(s.t.Context()))
	return time.Since(began)
}

// remember takes down how much memory the process has had resident at most.
func (s *site) remember() {
	s.t.Helper()
	_, most, err := s.l.Reroll.Memory()
	s.must(err)
	s.memory = max(s.memory, most)
}

// shown bounds what is shown of what is said.
const shown = 300

// hear waits until every workload of the tenant has said what is wrong with it, in its record or in an Event.
func (s *site) hear() {
	s.t.Helper()
	heard := map[string]string{}
	line.Eventually(s.t, "each of the tenant's workloads to say what is wrong", func(ctx context.Context) error {
		events, err := s.events(ctx)
		if err != nil {
			return err
		}
		var silent []string
		s.each(func(t trick, p place) {
			says := regexp.MustCompile(t.says)
			if says.MatchString(heard[p.name]) {
				return
			}
			text, err := s.said(ctx, t.makes(smallest, p).kind, p.name)
			if heard[p.name] = text + events[p.name]; err != nil || !says.MatchString(heard[p.name]) {
				silent = append(silent, fmt.Sprintf("%s does not say %s: %.*q, error %v", p.name, t.says, shown, heard[p.name], err))
			}
		})
		if len(silent) > 0 {
			return fmt.Errorf("%d are silent:\n%s", len(silent), strings.Join(silent, "\n"))
		}
		return nil
	})
}

// said returns what the REST API says about a workload of the tenant: its problems, its hold, the reasons of its dependencies.
func (s *site) said(ctx context.Context, kind, name string) (string, error) {
	var r struct {
		Problems     []string        `json:"problems"`
		Hold         json.RawMessage `json:"hold"`
		Dependencies []struct {
			Why string `json:"why"`
		} `json:"dependencies"`
	}
	err := s.l.Reroll.Get(ctx, "/api/v1/workloads/"+line.ClusterName+"/"+tenant+"/"+kind+"/"+name, &r)
	text := strings.Join(r.Problems, "\n") + "\n" + string(r.Hold) + "\n"
	for _, d := range r.Dependencies {
		if !strings.Contains(text, d.Why) {
			text += d.Why + "\n"
		}
	}
	return text, err
}

// events returns the messages of the Warning Events of the tenant, by the workload.
func (s *site) events(ctx context.Context) (map[string]string, error) {
	list, err := s.l.Kube.Client().CoreV1().Events(tenant).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return nil, err
	}
	events := map[string]string{}
	for _, e := range list.Items {
		events[e.InvolvedObject.Name] += e.Message + "\n"
	}
	return events, nil
}

// smallest is the smallest size, for what does not depend on it.
var smallest = options{Ordinary: 1, Namespaces: 1, Crowd: 1, Names: 1, Keys: 1}
