//go:build !race

package plan_test

import (
	"hash/maphash"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/plan"
)

// setup says what can happen in a world, and how often.
type setup struct {
	name           string
	configs, procs int
	edits, faults  uint8
	kinds
	counting plan.Counting
	product  product
}

// kinds says what can happen next to edits of content, crashes, lost answers, pods that restart, rollbacks and lost ledgers.
type kinds struct {
	deletions, relabels, removals, freezes, keys, optOuts, oldCopies, restores bool
	// statefulSet says that a rollback keeps annotations, seconds that several things happen in one second, hints that each write is reported,
	// and required that no pod starts without the configs.
	statefulSet, seconds, hints, required bool
}

// model is a search.
type model struct {
	setup
	memory memory
	// excuses counts how often each exception was needed.
	excuses []int
	// atFirstSight says that the roll that is judged is for configs that had no entry.
	atFirstSight bool
	// lateStart says that the first look of the process that rolls found other content.
	lateStart bool
	// ignorant says that neither it, the workload nor the ledger has the last roll.
	ignorant bool

	// seen are all worlds, and settling those on the way to rest: from there on it is known.
	seen, settling     map[[2]uint64]struct{}
	steps              []step
	seeds              [2]maphash.Seed
	transitions, rests int
}

// step is how a world was reached.
type step struct {
	from  int32
	event int16
}

// settled is the event by which a world came to rest.
const settled = -1

type node struct {
	world world
	at    int32
}

// firstWorld is a workload that has opted in, before Reroll was installed.
func (m *model) firstWorld() world {
	w := world{etcd: etcd{opted: true, written: 2}, hints: m.hints, edits: m.edits, faults: m.faults, clock: 4}
	for c := range m.configs {
		w.config[c] = config{n: 1}
		w.config[c].writes[0] = write{contentA, 1, 1, 1, false, false}
		w.ghost.applied[c] = contentA
		for i := range w.pods {
			w.pods[i].read[c], w.pods[i].at = 1, 3
		}
	}
	return w
}

// search visits every world that can be reached, and returns the shortest way to one that breaks an invariant.
func (m *model) search(limit int) (broken string, trace []string, complete bool) {
	m.memory = memory{map[newestKey]state{}, map[caseKey]verdict{}}
	m.seen, m.settling, m.excuses = map[[2]uint64]struct{}{}, map[[2]uint64]struct{}{}, make([]int, len(exceptions))
	m.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	frontier := []node{m.visit(m.firstWorld(), step{-1, 0})}
	for len(frontier) > 0 {
		var next []node
		for _, n := range frontier {
			reached := func(w world, event int, broken string) []string {
				if broken == "" {
					w = w.canonical()
					if !m.isKnown(m.seen, w) {
						next = append(next, m.visit(w, step{n.at, int16(event)}))
					}
					return nil
				}
				return append(m.trace(n.at), m.name(event), broken)
			}
			rest := n.world
			broken, rests := m.settle(&rest)
			if rests {
				m.rests++
				if trace := reached(rest, settled, broken); trace != nil {
					return broken, trace, false
				}
			}
			for i, e := range events {
				w := n.world
				switch {
				case e.cost == edit && w.edits == 0, e.cost == fault && w.faults == 0:
					continue
				case e.cost == edit:
					w.edits--
				case e.cost == fault:
					w.faults--
				}
				if !m.seconds {
					w.clock++
				}
				ok, broken := e.do(m, &w)
				if !ok {
					continue
				}
				m.transitions++
				m.remember(&w)
				if trace := reached(w, i, broken); trace != nil {
					return broken, trace, false
				}
			}
			if len(m.seen) > limit {
				return "", nil, false
			}
		}
		frontier = next
	}
	return "", nil, true
}

// isKnown reports whether w is in a set, and puts it there.
func (m *model) isKnown(set map[[2]uint64]struct{}, w world) bool {
	before := len(set)
	set[[2]uint64{maphash.Comparable(m.seeds[0], w), maphash.Comparable(m.seeds[1], w)}] = struct{}{}
	return len(set) == before
}

func (m *model) visit(w world, s step) node {
	m.steps = append(m.steps, s)
	return node{w, int32(len(m.steps) - 1)}
}

func (m *model) name(event int) string {
	if event == settled {
		return "rest"
	}
	return events[event].name
}

func (m *model) trace(at int32) []string {
	if s := m.steps[at]; s.from >= 0 {
		return append(m.trace(s.from), m.name(int(s.event)))
	}
	return nil
}

// run searches, prints how far it came, and returns how often each exception was needed.
func (s setup) run(t *testing.T, limit int) map[string]int {
	t.Helper()
	begin := time.Now()
	m := &model{setup: s}
	broken, trace, complete := m.search(limit)
	excused := map[string]int{}
	for i, n := range m.excuses {
		if n > 0 {
			excused[exceptions[i].name] = n
		}
	}
	t.Logf("%d states, %d transitions, %d rests, %.1f s, complete: %v, exceptions: %v",
		len(m.seen), m.transitions, m.rests, time.Since(begin).Seconds(), complete, excused)
	if broken != "" {
		t.Errorf("%s after:\n  %s", broken, strings.Join(trace, "\n  "))
	}
	return excused
}
