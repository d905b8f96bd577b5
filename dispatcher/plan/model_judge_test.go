//go:build !race

package plan_test

import (
	"fmt"
	"slices"
)

// The invariants are those of ARCHITECTURE.md's promises:
//
//	I1 nothing lost: at rest every pod has the live content, or a hold says why not
//	I2 nothing doubled: between two rolls the content differs, or a pod started with other content or was brought back
//	I3 the write that a roll applies is never older than that of the roll before
//	I4 if no content was written since the last rest, nothing rolls
//	I5 rest is reached
//	I6 a rollback is not rolled over while the content stays
//	I7 nothing rolls for content from before the opt-in, or from before the ledger where nothing is known
//	I8 what is not opted in does not roll
//
// The exceptions are those of docs/reliability.md.

// exception excuses a broken invariant. pod and c are those of I1.
type exception struct {
	name, says string
	excuses    func(m *model, w *world, broken string, c, pod int) bool
}

func isExtra(broken string) bool {
	return broken == "I2" || broken == "I4" || broken == "I6" || broken == "I7"
}

var exceptions = []exception{
	{"X1", "content went and came back, no process that still runs looked between, and a pod started or was brought back then", unseen},
	{"X2", "neither the workload, the ledger nor the process that decides has the last roll, as after an undo and a crash before the ledger was written", func(m *model, w *world, broken string, c, _ int) bool {
		return (w.ghost.amnesia || m.ignorant) && (isExtra(broken) || broken == "I1" && w.returned(c))
	}},
	{"X2n", "neither the ledger nor a process has the newest note", func(m *model, w *world, broken string, c, _ int) bool {
		return w.ghost.forgot && (isExtra(broken) || broken == "I1" && w.returned(c))
	}},
	{"X3", "the digest key is lost, and a config is written before the next look", func(m *model, w *world, broken string, _, _ int) bool {
		return broken == "I1" && w.ghost.keyLost
	}},
	{"X4", "the workload is written between an edit and the first look", func(m *model, w *world, broken string, _, _ int) bool {
		return (broken == "I1" || broken == "I2") && w.ghost.unlisted
	}},
	{"X5", "a config is absent at first sight and appears with other content than pods have", func(m *model, w *world, broken string, _, _ int) bool {
		return broken == "I1" && w.ghost.absentFirst
	}},
	{"X6", "a change is made and reverted before the first look at a config that nothing is known of", func(m *model, w *world, broken string, _, _ int) bool {
		return broken == "I2" && m.atFirstSight && w.ghost.fresh
	}},
	{"X7", "a workload opts out and in again before the ledger has it", func(m *model, w *world, broken string, _, _ int) bool {
		return isExtra(broken) && w.ghost.optedOut
	}},
	{"X9", "an edit in the very second in which the workload opts in, or Reroll is installed", func(m *model, w *world, broken string, _, _ int) bool {
		return isExtra(broken) && w.ghost.atOnce
	}},
	{"X10", "the ledger is deleted: what was never rolled begins with the present content", func(m *model, w *world, broken string, _, _ int) bool {
		return (broken == "I1" || broken == "I2" && m.procs > 1) && w.ghost.reborn
	}},
	{"X11", "etcd is restored: a pod that started meanwhile keeps what it has read", func(m *model, w *world, broken string, c, pod int) bool {
		return broken == "I1" && w.pods[pod].lost[c] != 0
	}},
	{"X8", "a process starts while a config has other content than was applied, and then the content comes back", func(m *model, w *world, broken string, _, _ int) bool {
		return broken == "I2" && m.lateStart
	}},
	{"X12", "content goes and comes back, and the workload is rolled back before a process decides", func(m *model, w *world, broken string, _, _ int) bool {
		return broken == "I6" && w.cameBack(m)
	}},
}

// returned reports whether the live content of c was there before other content.
func (w *world) returned(c int) bool {
	x, other := w.config[c], false
	for i := int(x.n) - 1; i >= 0; i-- {
		same := x.writes[i].content == x.live().content
		if same && other {
			return true
		}
		other = other || !same
	}
	return false
}

// unseen reports whether no process that still runs looked while the config had the content that a pod has, or since an undo that brought the
// pod back.
func unseen(m *model, w *world, broken string, c, pod int) bool {
	if broken != "I1" || !w.returned(c) {
		return false
	}
	x := w.config[c]
	same := func(n uint8) bool { return x.writes[n-1].content == x.live().content }
	from := w.pods[pod].read[c]
	for from > 1 && !same(from-1) {
		from--
	}
	back := w.ghost.undone && w.pods[pod].read[c] <= w.ghost.backAt[c]
	if back {
		from = w.ghost.backAt[c] + 1
	}
	for n := from; n <= x.n; n++ {
		if same(n) && !back {
			break
		}
		if !same(n) && w.procs[0].saw(c, n) {
			return false
		}
	}
	return true
}

// excused returns what is broken, or nothing and counts the exception.
func (m *model) excused(w *world, broken string, c, pod int) string {
	for i, x := range exceptions {
		if x.excuses(m, w, broken, c, pod) {
			m.excuses[i]++
			return ""
		}
	}
	return broken
}

// judgeRoll judges a roll that is about to be written.
func (m *model) judgeRoll(w *world, p *process, then state) string {
	g, equal, stays := w.ghost, true, w.ghost.undone
	for c := range m.configs {
		e := then.of[c]
		if stays = stays && w.stays(c); e.write == 0 {
			continue
		}
		if e.write < g.wrote[c] {
			return fmt.Sprintf("I3: write %d after %d", e.write, g.wrote[c])
		}
		equal = equal && !m.counts(w, c, g.applied[c], e.write)
	}
	m.lateStart, m.ignorant = false, p.ignorant
	for c, x := range p.looks {
		first := slices.IndexFunc(x[:], func(began uint8) bool { return began != 0 })
		m.lateStart = m.lateStart || first >= 0 && w.content(c, uint8(first+1)) != g.applied[c]
	}
	for _, rule := range []struct {
		name   string
		broken bool
	}{
		{"I8", !w.opted},
		{"I2", equal && !g.between && p.unsure == [configs]bool{}},
		{"I4", g.quiet},
		{"I6", equal && g.rolled == g.applied && stays && w.tmpl.rev != g.mark},
		{"I7", !g.fresh},
	} {
		if rule.broken {
			if broken := m.excused(w, rule.name, 0, 0); broken != "" {
				return fmt.Sprintf("%s: %+v after %+v", broken, then, g)
			}
		}
	}
	return ""
}

// counts reports whether write n of config c has other counting content than what was there before.
func (m *model) counts(w *world, c int, before, n uint8) bool {
	x := w.config[c].writes[n-1]
	switch {
	case before == x.content, x.content == gone && !m.counting.Deletion:
		return false
	case before == gone && !m.counting.Creation:
		return n == w.config[c].n && x.data != x.created // it was edited since it was created
	}
	return true
}

// cameBack reports whether some config had other content since the write that was applied of it.
func (w *world) cameBack(m *model) bool {
	for c := range m.configs {
		for n := w.ghost.wrote[c] + 1; w.ghost.wrote[c] > 0 && n <= w.config[c].n; n++ {
			if w.content(c, n) != w.config[c].live().content {
				return true
			}
		}
	}
	return false
}

// stays reports whether no other content of c was written since an earlier template was brought back.
func (w *world) stays(c int) bool {
	at := w.ghost.backAt[c]
	for n := at + 1; n <= w.config[c].n; n++ {
		if w.content(c, n) != w.content(c, at) {
			return false
		}
	}
	return true
}

// remember notes what nobody knows any more.
func (m *model) remember(w *world) {
	known := w.told
	known.rolled = known.rolled || w.ghost.n == 0 || w.object.known && w.object.mark == w.ghost.mark
	for _, p := range w.procs {
		if p.alive {
			known = told{known.rolled || p.told.rolled, known.noted || p.told.noted, known.out || p.told.out}
		}
	}
	g := &w.ghost
	g.amnesia = g.amnesia || !known.rolled
	g.forgot = g.forgot || g.noted && !known.noted
	g.optedOut = g.optedOut || g.back && !known.out
}

// settle lets everything come to rest without faults, and returns what is broken. It does not continue where another world has come to before.
func (m *model) settle(w *world) (broken string, rests bool) {
	w.procs[1] = process{}
	m.remember(w)
	if !w.procs[0].alive {
		w.clock++
		m.start(w, 0)
	}
	p := &w.procs[0]
	for range 12 {
		busy := false
		act := func() {
			if p.do != doNothing && broken == "" {
				busy, broken = true, m.act(w, p, false)
			}
		}
		w.clock++
		act()
		w.clock++
		held := m.attempt(w, p)
		w.clock++
		act()
		if p.dirty {
			m.flush(w, 0)
			busy = true
		}
		for i := range w.pods {
			if w.pods[i].rev != w.tmpl.rev && m.canStart(w) {
				w.clock++
				m.startPod(w, i)
				busy = true
			}
		}
		m.remember(w)
		switch {
		case broken != "":
			return broken, true
		case !busy:
			return m.judgeRest(w, held), true
		}
		*w = w.canonical()
		if m.isKnown(m.settling, *w) {
			return "", false
		}
	}
	return "I5: no rest", true
}

// judgeRest judges a world at rest.
func (m *model) judgeRest(w *world, held bool) string {
	m.ignorant = false
	clean := true
	w.ghost.quiet = !held
	for c := range m.configs {
		if held || w.config[c].unreadable || !w.opted {
			clean, w.ghost.quiet = false, w.ghost.quiet && !w.config[c].unreadable
			continue
		}
		for i, pod := range w.pods {
			has, live := w.has(pod, c), w.config[c].live().content
			if has == live || pod.accepted[c] != 0 && w.content(c, pod.accepted[c]) == live || has == gone && !m.counting.Creation || live == gone && !m.counting.Deletion {
				continue
			}
			clean = false
			if w.ghost.undone && w.stays(c) {
				continue
			}
			if broken := m.excused(w, "I1", c, i); broken != "" {
				return fmt.Sprintf("%s: pod %d has write %d of %s", broken, i, pod.read[c], names[c].Name)
			}
		}
	}
	if clean {
		g := &w.ghost
		g.forgot, g.unlisted, g.optedOut, g.atOnce, g.reborn, g.back = false, false, false, false, false, false
		g.amnesia = !w.procs[0].told.rolled // an undo of the undo may bring the roll back
		w.told.out, w.procs[0].told.out = false, false
		for c := range m.configs {
			g.absentFirst = g.absentFirst && w.config[c].live().content == gone
		}
	}
	return ""
}
