package dispatcher_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// model is a world of two configs and a workload that uses both, in which things happen by chance, and what its pods must have in the end. It
// knows what pods have from the API server alone: those of a new template start at once, with what is live then.
type model struct {
	*world
	random *rand.Rand
	// contents are those that each config had, the newest last; pods tells with which of them the present pods have started.
	contents map[string][]content
	pods     map[string]int
	// changed counts the changes of contents, undone the rollbacks, and made the configs that were made again, each of which may add a roll: a pod
	// that started after the last look that found the content may have started while it was away. rolls counts what Reroll did.
	changed, undone, made, rolls int
	revision                     int64
	// reads guards what is written in contents, and past.
	reads  sync.Mutex
	copies []*appsv1.Deployment
	// deaf says that records are lost.
	deaf bool
	past []string
}

// content is one of a config. read says that a dispatcher which has run without an end since then has read the config while it had that.
type content struct {
	value string
	read  bool
}

// histories are the seeds to try: 120 that are always the same ones, MODEL_HISTORIES others, or that of MODEL_SEED.
func histories() (seeds []uint64) {
	if seed, err := strconv.ParseUint(os.Getenv("MODEL_SEED"), 10, 64); err == nil {
		return []uint64{seed}
	}
	others, err := strconv.Atoi(os.Getenv("MODEL_HISTORIES"))
	if err != nil {
		others = 120
	}
	for i := range others {
		seed := uint64(i)
		if err == nil {
			seed = rand.Uint64()
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// TestModel: whatever dies, fails, comes late, twice or back, the pods have the newest contents in the end, no template has changed more
// often than contents and people made it change, and another look rolls nothing.
func TestModel(t *testing.T) {
	for _, seed := range histories() {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			window := []time.Duration{0, 200 * time.Millisecond, 2 * time.Second}[seed%3]
			settings := scenario.Settings{
				Strategy: []string{"env-vars", "annotations"}[seed/3%2], Window: scenario.Duration(window), MaxWait: scenario.Duration(4 * window),
			}
			inWorld(t, settings, func(t *testing.T, w *world) {
				m := &model{
					world: w, random: rand.New(rand.NewPCG(seed, 11)),
					contents: map[string][]content{"app": {{value: "1"}}, "other": {{value: "1"}}}, pods: map[string]int{},
				}
				m.reading(nil)
				w.overhears = seed%8 < 4
				if seed%4 < 2 {
					w.configure = func(o *dispatcher.Options) { o.SweepInterval = 30 * time.Second }
				}
				w.cluster.watch = m.watched
				w.twoConfigs("app", "other")
				w.pass(time.Minute)
				w.settled()
				for range 30 {
					m.act()
					w.pass([]time.Duration{0, 100 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second, time.Minute}[m.random.IntN(5)])
				}
				m.calm()
				m.check("in the end")
				m.stop()
				m.start()
				m.pass(quiet)
				m.check("after another look")
				if t.Failed() {
					t.Log(strings.Join(m.past, "\n"))
				}
			})
		})
	}
}

// watched takes note of new pods, and tells the dispatchers. The API server calls it in order.
func (m *model) watched(ref scenario.Ref, obj scenario.Typed) {
	if revision := m.templates[ref].revision; obj != nil && revision != m.revision {
		m.revision = revision
		m.reads.Lock()
		for name := range m.contents {
			m.now(name, m.objects[scenario.Ref("ConfigMap/"+name)].(*corev1.ConfigMap).Data["a"])
			m.pods[name] = len(m.contents[name]) - 1
		}
		app, other := m.has("app"), m.has("other")
		m.reads.Unlock()
		by := obj.GetManagedFields()[0].Manager
		if by == workload.MarkManager {
			m.rolls++
		}
		m.did("template %d by %s: pods have app %s, other %s", m.revision, by, app, other)
	}
	m.observe(ref, obj)
}

// has returns the content with which the pods have started. While dispatchers run, reads is locked.
func (m *model) has(name string) string { return m.contents[name][m.pods[name]].value }

// did takes note of what happens, for people.
func (m *model) did(format string, args ...any) {
	m.reads.Lock()
	defer m.reads.Unlock()
	m.past = append(m.past, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

// act does one thing.
func (m *model) act() {
	switch m.random.IntN(19) {
	case 0, 1, 2, 3:
		m.change([]string{"app", "other"}[m.random.IntN(2)], fmt.Sprint(m.random.IntN(3)))
	case 4:
		m.reads.Lock()
		back := m.has("app")
		m.reads.Unlock()
		m.change("app", back)
	case 5:
		m.did("all die")
		m.stop()
	case 6, 7:
		m.revive()
	case 8:
		m.blind([]string{"/app", "/other", ""}[m.random.IntN(3)])
	case 9:
		m.reading(nil)
		m.did("everything can be read")
	case 10:
		m.lose(true)
	case 11:
		m.lose(false)
	case 12:
		m.undo()
	case 13:
		m.hints()
	case 14:
		m.freeze(m.random.IntN(2) == 0)
	case 15:
		m.second()
	case 16:
		m.losePods()
	case 17:
		m.remake([]string{"app", "other"}[m.random.IntN(2)])
	case 18:
		m.did("a third of all requests fail")
		m.reading(func(string, string) error {
			if time.Now().UnixNano()%3 == 0 {
				return errLost
			}
			return nil
		})
	}
}

func (m *model) change(name, value string) {
	all := m.contents[name]
	if all[len(all)-1].value == value {
		return
	}
	m.did("%s is %s", name, value)
	m.changed++
	m.edit(alice, scenario.Ref("ConfigMap/"+name), value)
	m.reads.Lock()
	defer m.reads.Unlock()
	m.now(name, value)
}

// remake deletes a config and makes it again as it was.
func (m *model) remake(name string) {
	all := m.contents[name]
	m.did("%s is made anew", name)
	m.made++
	m.must(m.delete(bob, scenario.Ref("ConfigMap/"+name)))
	m.give(name, all[len(all)-1].value)
}

// now takes note of what is live, which anyone who changed it may not have done yet; reads is locked.
func (m *model) now(name, value string) {
	if all := m.contents[name]; all[len(all)-1].value != value {
		m.contents[name] = append(all, content{value: value})
	}
}

// reading has reads meet what fail says; nil lets all succeed. Those that do are noted.
func (m *model) reading(fail func(verb, ref string) error) {
	m.failing(func(verb, ref string) error {
		if fail != nil {
			if err := fail(verb, ref); err != nil {
				return err
			}
		}
		m.reads.Lock()
		defer m.reads.Unlock()
		if all := m.contents[ref[strings.LastIndex(ref, "/")+1:]]; all != nil && verb == "get" {
			all[len(all)-1].read = true
		}
		return nil
	})
}

// revive starts a dispatcher if none runs. It need not get ready.
func (m *model) revive() {
	if len(m.running) > 0 {
		return
	}
	m.did("one starts")
	m.reads.Lock()
	for _, all := range m.contents {
		for i := range all {
			all[i].read = false
		}
	}
	m.reads.Unlock()
	m.lose(false)
	m.stream.connect(m.launch().Handle)
}

// second starts a dispatcher next to another one.
func (m *model) second() {
	if len(m.running) != 1 {
		return
	}
	m.did("another one starts")
	m.lose(false)
	m.stream.connect(m.launch().Handle)
}

// blind has reads of what ends so fail.
func (m *model) blind(suffix string) {
	m.did("what ends in %q cannot be read", suffix)
	m.reading(func(verb, ref string) error {
		if verb != "patch" && strings.HasSuffix(ref, suffix) {
			return errLost
		}
		return nil
	})
}

// undo keeps the workload as it is, or brings one back that was kept. A rollback over a roll that is not on record says nothing of it any more.
func (m *model) undo() {
	if len(m.copies) == 0 || m.random.IntN(2) == 0 {
		obj, ok := m.read(web)
		if !ok {
			m.t.Fatal("web is gone")
		}
		m.copies = append(m.copies, obj.DeepCopyObject().(*appsv1.Deployment))
		return
	}
	if m.deaf {
		return
	}
	m.did("somebody rolls back")
	m.undone++
	m.must(m.cluster.undo(bob, web, &m.copies[m.random.IntN(len(m.copies))].Spec.Template))
}

// lose has records be lost from now on, or stored again.
func (m *model) lose(records bool) {
	m.did("records are lost: %v", records)
	m.deaf = records
	m.store.lose(nil, map[bool]error{true: errLost}[records])
}

// hints holds the feed back, or lets what was held come in another order, some of it twice and some not at all.
func (m *model) hints() {
	if !m.stream.held {
		m.did("hints stay away")
		m.stream.hold()
		return
	}
	m.did("hints come")
	back := m.stream.take()
	back = append(back, back[:len(back)/2]...)
	m.random.Shuffle(len(back), func(i, j int) { back[i], back[j] = back[j], back[i] })
	m.stream.send(back[:len(back)-len(back)/4]...)
}

func (m *model) freeze(on bool) {
	m.did("frozen: %v", on)
	m.control = control.Control{}
	if on {
		m.control = control.Frozen(reloader.Pause{})
	}
	for _, p := range m.running {
		p.SetControl(m.control)
	}
}

// calm ends every fault, has all be looked at, and waits.
func (m *model) calm() {
	m.t.Helper()
	m.reading(nil)
	m.lose(false)
	m.freeze(false)
	m.stream.send(m.stream.take()...)
	m.revive()
	m.pass(15 * time.Minute)
	m.did("a new one looks at everything")
	m.stop()
	m.start()
	m.pass(quiet)
}

func (m *model) check(when string) {
	m.t.Helper()
	for name, all := range m.contents {
		if now := all[len(all)-1].value; m.has(name) != now && !m.unknowable(name) {
			m.t.Errorf("%s the pods have %s %s, and it is %s: lost", when, name, m.has(name), now)
		}
	}
	if most := m.changed + m.undone + m.made; m.rolls > most {
		m.t.Errorf("%s there are %d rolls for %d changes, %d rollbacks and %d configs made anew: doubled", when, m.rolls, m.changed, m.undone, m.made)
	}
}

// unknowable reports whether the pods have started with a content that was away from the newest one, which came back before any dispatcher that still
// ran had read another one since (exception X1).
func (m *model) unknowable(name string) bool {
	all, at := m.contents[name], m.pods[name]
	now := all[len(all)-1].value
	if slices.ContainsFunc(all[at:], func(c content) bool { return c.read && c.value != now }) {
		return false
	}
	return slices.ContainsFunc(all[:at], func(c content) bool { return c.value == now })
}

// losePods has the pods start again, with what is live.
func (m *model) losePods() {
	m.did("pods are lost")
	m.restarted(web)
	m.reads.Lock()
	defer m.reads.Unlock()
	for name, all := range m.contents {
		m.pods[name] = len(all) - 1
	}
}
