package dispatcher_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// abroadModel is a world with two workloads that follow the flags of c1, one of which uses a config of its own as well, in which things happen by
// chance.
type abroadModel struct {
	*world
	random *rand.Rand
	p      *process
	// hub is the newest copy at the hub, came the change that came last, and cut says that none comes.
	hub  reloader.Copy
	came string
	cut  bool
	// content, key and version are those of the flags now.
	content, key, version int
	// heard counts the changes that have come, and edits those of the workload's own config.
	heard, edits int
	past         []string
}

// TestFollowersOverCuts: however often the hub is away, a process ends, somebody freezes everything, the owner refuses, allows or rotates its
// key, in the end the workloads were brought to the newest contents, were rolled no more often than changes came, and every roll is on record once.
func TestFollowersOverCuts(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			amongClusters(t, func(t *testing.T, w *world, _ *copies) {
				if seed%2 == 1 {
					w.configure = together
				}
				w.give("app", "0")
				w.deploy("web", followsFlags+", "+auto, "app")
				w.deploy("other", followsFlags, "app")
				m := &abroadModel{world: w, random: rand.New(rand.NewPCG(seed, 5)), p: w.start()}
				m.change()
				w.pass(quiet)
				m.heard = 0
				for range 40 {
					m.act()
					w.pass([]time.Duration{0, 300 * time.Millisecond, 5 * time.Second, time.Minute, 20 * time.Minute}[m.random.IntN(5)])
				}
				m.calm()
				m.check(web, webRef, m.heard+m.edits)
				m.check("Deployment/other", reloader.WorkloadRef{Kind: "Deployment", Namespace: scenario.DefaultNamespace, Name: "other"}, m.heard)
				if t.Failed() {
					t.Log(strings.Join(m.past, "\n"))
				}
			})
		})
	}
}

func (m *abroadModel) did(format string, args ...any) {
	m.past = append(m.past, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// act does one thing.
func (m *abroadModel) act() {
	switch m.random.IntN(12) {
	case 0, 1, 2, 3:
		m.change()
	case 4:
		m.rotate()
	case 5, 6:
		m.edits++
		m.edit(alice, app, fmt.Sprint(m.edits))
		m.did("app %d", m.edits)
	case 7:
		m.cut = true
		m.did("cut")
	case 8:
		m.mend()
	case 9:
		m.stop()
		m.p = m.start()
		m.did("another process")
		m.bring()
	case 10:
		m.did("freeze")
		m.p.SetControl(control.Frozen(control.Freeze{}))
		m.control = control.Frozen(control.Freeze{})
	case 11:
		m.thaw()
		if !m.cut {
			m.did("refused")
			m.p.Receive(refusedFlags())
		}
	}
}

func (m *abroadModel) thaw() {
	m.did("thaw")
	m.p.SetControl(control.Control{})
	m.control = control.Control{}
}

// digest is that of the content of the flags.
func (m *abroadModel) digest() reloader.Digest {
	return reloader.Digest{KeyID: fmt.Sprint("key-", m.key), Sum: fmt.Sprintf("sum-%d-%d", m.key, m.content)}
}

// change gives the flags another content, perhaps one that they had.
func (m *abroadModel) change() {
	old := m.digest()
	m.content = (m.content + 1 + m.random.IntN(3)) % 5
	m.version++
	m.tell(reloader.ChangeUpdated, old)
}

// rotate has the owner say the same under another key.
func (m *abroadModel) rotate() {
	old := m.digest()
	m.key++
	m.tell(reloader.ChangeBaseline, old)
	m.change() // of two rotations in one cut nothing can be told
}

func (m *abroadModel) tell(as reloader.ChangeType, old reloader.Digest) {
	m.hub = copyOfFlags(1)
	c := &m.hub.Change
	c.Type, c.Old, c.New, c.ResourceVersion = as, old, m.digest(), fmt.Sprint(m.version)
	c.VerifiedAt = c.VerifiedAt.Add(time.Duration(m.random.IntN(1200)-600) * time.Second) // its clock
	c.ID = reloader.ChangeID(*c)
	m.did("flags are %s, %s", c.New.Sum, as)
	m.bring()
}

// bring has the newest copy come if there is a way.
func (m *abroadModel) bring() {
	if m.cut {
		return
	}
	if m.came != m.hub.Change.ID {
		m.heard++
		m.did("%s comes", m.hub.Change.New.Sum)
	}
	m.came = m.hub.Change.ID
	m.p.Receive(m.hub)
}

func (m *abroadModel) mend() {
	m.did("mended")
	m.cut = false
	m.bring()
}

// calm ends all that is in the way.
func (m *abroadModel) calm() {
	m.thaw()
	m.mend()
	m.pass(2 * quiet)
	m.edits++
	m.edit(alice, app, "the last")
	m.pass(2 * quiet)
}

// check fails the test unless a workload was brought to the newest contents, by no more rolls than that, all of which are on record once.
func (m *abroadModel) check(ref scenario.Ref, named reloader.WorkloadRef, atMost int) {
	m.t.Helper()
	r, ok := m.store.recordOf(named)
	if !ok || r.Hold != nil {
		m.t.Fatalf("the record of %s is %+v", ref, r)
	}
	for _, e := range r.Edges {
		if e.Pending != "" || e.Config.Cluster != "" && e.Handled.Sum != m.digest().Sum {
			m.t.Errorf("%s: of %s it has %+v, pending %q, and the newest is %s", ref, e.Config, e.Handled, e.Pending, m.digest().Sum)
		}
	}
	g := m.revision(ref)
	rolls := m.outcomes(named)[reloader.ReasonReloaded]
	m.rolled(ref, int64(rolls))
	if int(g)-1 > atMost || rolls == 0 && atMost > 0 {
		m.t.Errorf("%s was rolled %d times for %d changes", ref, g-1, atMost)
	}
}
