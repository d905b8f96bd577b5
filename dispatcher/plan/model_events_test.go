//go:build !race

package plan_test

// event is what can happen. It reports false where it cannot, and which invariant it breaks.
type event struct {
	name string
	// cost is what of the budget it takes.
	cost cost
	do   func(m *model, w *world) (ok bool, broken string)
}

type cost int

const (
	free cost = iota
	edit
	fault
)

func happens(do func(m *model, w *world) bool) func(*model, *world) (bool, string) {
	return func(m *model, w *world) (bool, string) { return do(m, w), "" }
}

// writeConfig writes config c.
func (m *model) writeConfig(w *world, c int, content uint8, relabel bool) bool {
	x := &w.config[c]
	old := x.live()
	if int(x.n) == maxWrites || (old.content == content) != relabel || relabel && content == gone {
		return false
	}
	now := write{content, w.clock, w.clock, old.created, false, false}
	switch {
	case relabel:
		now.data, now.silent = old.data, old.silent
	case content == gone:
		now.data, now.created = 0, 0
	case old.content == gone:
		now.created = w.clock
	case m.removals && content == contentB:
		now.data, now.takes, now.silent = old.data, true, true
	}
	x.writes[x.n] = now
	x.n++
	if !relabel {
		w.ghost.quiet, w.ghost.fresh = false, true
	}
	return true
}

func edits(c int, content uint8) func(*model, *world) (bool, string) {
	return happens(func(m *model, w *world) bool {
		return c < m.configs && !(content == gone && !m.deletions) && m.writeConfig(w, c, content, false)
	})
}

func relabels(c int) func(*model, *world) (bool, string) {
	return happens(func(m *model, w *world) bool {
		return c < m.configs && m.relabels && m.writeConfig(w, c, w.config[c].live().content, true)
	})
}

// of makes an event of a step of process i.
func of(i int, step func(m *model, w *world, p *process) (bool, string)) func(*model, *world) (bool, string) {
	return func(m *model, w *world) (bool, string) {
		p := &w.procs[i]
		if i >= m.procs || !p.alive {
			return false, ""
		}
		return step(m, w, p)
	}
}

func processEvents(i int, name string) []event {
	acts := func(lost bool) func(*model, *world) (bool, string) {
		return of(i, func(m *model, w *world, p *process) (bool, string) {
			if p.do == doNothing || lost && p.do != doRoll {
				return false, ""
			}
			return true, m.act(w, p, lost)
		})
	}
	looks := func(c int) func(*model, *world) (bool, string) {
		return of(i, func(m *model, w *world, p *process) (bool, string) {
			if c >= m.configs {
				return false, ""
			}
			m.look(w, p, c)
			return true, ""
		})
	}
	return []event{
		{name + " starts", free, happens(func(m *model, w *world) bool {
			if i >= m.procs || w.procs[i].alive {
				return false
			}
			m.start(w, i)
			return true
		})},
		{name + " looks at x", free, looks(0)},
		{name + " looks at y", free, looks(1)},
		{name + " reads and decides", free, of(i, func(m *model, w *world, p *process) (bool, string) {
			m.attempt(w, p)
			return true, ""
		})},
		{name + " reads the workload early", free, of(i, func(m *model, w *world, p *process) (bool, string) {
			p.early, p.earlyOurs = true, p.ours(w)
			return m.product.noteAnyway, ""
		})},
		{name + " acts", free, acts(false)},
		{name + " acts and the answer is lost", fault, acts(true)},
		{name + " flushes", free, of(i, func(m *model, w *world, p *process) (bool, string) {
			if !p.dirty {
				return false, ""
			}
			m.flush(w, i)
			return true, ""
		})},
		{name + " crashes", fault, of(i, func(m *model, w *world, p *process) (bool, string) {
			*p = process{}
			return true, ""
		})},
	}
}

// podEvents are those of pod i.
func podEvents(i int) []event {
	return []event{
		{"a pod is replaced", free, happens(func(m *model, w *world) bool {
			if w.pods[i].rev == w.tmpl.rev || !m.canStart(w) {
				return false
			}
			m.startPod(w, i)
			return true
		})},
		{"a pod restarts", fault, happens(func(m *model, w *world) bool {
			if i > 0 && w.pods[0] == w.pods[1] || !m.canStart(w) {
				return false
			}
			rev := w.pods[i].rev
			m.startPod(w, i)
			w.pods[i].rev = rev
			return true
		})},
	}
}

// broughtBack notes that an earlier template is back.
func (m *model) broughtBack(w *world) {
	w.ghost.between, w.ghost.undone = true, true
	for c := range m.configs {
		w.ghost.backAt[c] = w.config[c].n
	}
}

var faults = []event{
	{"the workload is rolled back", fault, happens(func(m *model, w *world) bool {
		if w.prev.rev == w.tmpl.rev {
			return false
		}
		object := w.object
		if !m.statefulSet {
			object = w.prevObject
		}
		m.newTemplate(w, w.prev, object)
		m.broughtBack(w)
		return true
	})},
	{"the workload is replaced", fault, happens(func(m *model, w *world) bool {
		was := w.tmpl.rev
		m.newTemplate(w, template{}, state{})
		if was != 0 {
			m.broughtBack(w)
		}
		return true
	})},
	{"the annotation is stripped", fault, happens(func(m *model, w *world) bool {
		if !w.object.known {
			return false
		}
		m.newTemplate(w, w.tmpl, state{})
		return true
	})},
	{"an old annotation is applied", fault, happens(func(m *model, w *world) bool {
		if !m.oldCopies || w.prevObject == w.object {
			return false
		}
		m.newTemplate(w, w.tmpl, w.prevObject)
		return true
	})},
	{"the template is changed", fault, happens(func(m *model, w *world) bool {
		m.newTemplate(w, template{m.newRevision(w), w.tmpl.mark}, w.object)
		return true
	})},
	{"the workload is annotated", fault, happens(func(m *model, w *world) bool {
		m.wroteWorkload(w)
		return true
	})},
	{"the ledger is lost", fault, happens(func(m *model, w *world) bool {
		if w.born == 0 {
			return false
		}
		w.ledger, w.born, w.told = state{}, 0, told{}
		for i := range w.procs {
			w.procs[i].stale = w.procs[i].alive
		}
		return true
	})},
	{"etcd is backed up", free, happens(func(m *model, w *world) bool {
		w.saved = w.etcd
		return m.restores
	})},
	{"etcd is restored", fault, happens(func(m *model, w *world) bool {
		if w.saved.config[0].n == 0 {
			return false
		}
		m.restore(w)
		return true
	})},
	{"reloads are frozen", fault, happens(func(m *model, w *world) bool {
		w.frozen = !w.frozen
		return m.freezes
	})},
	{"config x is unreadable", fault, happens(func(m *model, w *world) bool {
		w.config[0].unreadable = !w.config[0].unreadable
		return m.configs > 1
	})},
	{"the digest key changes", fault, happens(func(m *model, w *world) bool {
		if !m.keys || w.key == 2 {
			return false
		}
		w.key++
		w.ghost.keyLost = w.ghost.keyLost || w.key == 2
		for i := range w.procs {
			w.procs[i] = process{} // a process reads the key when it starts
		}
		return true
	})},
	{"the workload opts out or in", fault, happens(func(m *model, w *world) bool {
		w.opted = !w.opted
		m.wroteWorkload(w)
		if w.ghost.back = w.opted; w.opted {
			m.accept(w)
		}
		return m.optOuts
	})},
}

// restore brings etcd back to its backup. A process that finds an older version than it knows drops its memory, as a new one.
func (m *model) restore(w *world) {
	for i, p := range w.pods {
		for c := range m.configs {
			if w.pods[i].accepted[c] > w.saved.config[c].n {
				w.pods[i].accepted[c] = 0
			}
			if p.read[c] > w.saved.config[c].n {
				w.pods[i].lost[c], w.pods[i].read[c] = w.has(p, c)+1, w.saved.config[c].n
			}
		}
	}
	w.etcd, w.procs, w.saved = w.saved, [2]process{}, etcd{}
	g := &w.ghost
	g.n, g.quiet, g.fresh, g.noted, g.back = max(w.object.n, w.ledger.n), false, true, false, false
	g.between = true
	newest := m.newest(w, w.object, w.ledger)
	g.undone, g.mark = newest.n > 0 && w.tmpl.mark != newest.mark, newest.mark
	for c := range m.configs {
		g.applied[c], g.wrote[c] = w.config[c].live().content, newest.of[c].write
		if e := newest.of[c]; e.write != 0 {
			g.applied[c] = w.content(c, e.write)
		}
		g.rolled[c], g.backAt[c] = g.applied[c], w.config[c].n
	}
}

// events are all that can happen.
var events = func() []event {
	all := []event{
		{"x becomes A", edit, edits(0, contentA)},
		{"x becomes B", edit, edits(0, contentB)},
		{"x is deleted", edit, edits(0, gone)},
		{"x is relabelled", edit, relabels(0)},
		{"y becomes A", edit, edits(1, contentA)},
		{"y becomes B", edit, edits(1, contentB)},
		{"the second ends", free, happens(func(m *model, w *world) bool {
			ends := false
			clock := w.clock
			w.times(func(t *uint8) { ends = ends || t != &w.clock && *t == clock })
			w.clock++
			return m.seconds && ends
		})},
	}
	all = append(all, processEvents(0, "Reroll")...)
	all = append(all, processEvents(1, "another process")...)
	all = append(all, podEvents(0)...)
	all = append(all, podEvents(1)...)
	return append(all, faults...)
}()
