//go:build !race

package plan_test

import "github.com/reroll-dev/reroll/dispatcher/plan"

// The steps of a process, as the shell makes them: look; read the ledger, the workload and the configs, and decide; act; flush.

// start starts process i, which reads the ledger, or makes one.
func (m *model) start(w *world, i int) {
	if w.born == 0 {
		w.born = w.clock
		m.begin(w)
	}
	w.procs[i] = process{alive: true, mem: w.ledger, born: w.born, shadow: shadow{told: w.told}}
	for c := range m.configs {
		w.procs[i].unsure[c] = w.pods[0].at == w.clock || w.pods[1].at == w.clock
	}
}

// begin notes that the workload runs with what is live, as far as Reroll is concerned: it opts in, or the ledger is born and nothing is known.
func (m *model) begin(w *world) {
	if w.object.known {
		return
	}
	for _, p := range w.procs {
		if p.alive {
			w.ghost.reborn = true
			return
		}
	}
	m.accept(w)
}

// accept makes the present content that with which the workload begins.
func (m *model) accept(w *world) {
	for c := range m.configs {
		for i := range w.pods {
			w.pods[i].accepted[c] = w.config[c].n
		}
		w.ghost.applied[c] = w.config[c].live().content
		w.ghost.atOnce = w.ghost.atOnce || w.config[c].live().data == w.clock
	}
	w.ghost.fresh = false
}

// look looks at config c.
func (m *model) look(w *world, p *process, c int) {
	n := w.config[c].n
	if p.looks[c][n-1] == 0 {
		p.first[c] = w.clock
	}
	p.looks[c][n-1] = w.clock
	p.away[c] = p.away[c] || w.config[c].live().content != w.ghost.applied[c]
	for i := range w.pods {
		if p.away[c] || w.has(w.pods[i], c) != w.ghost.applied[c] || w.pods[i].at == w.clock {
			return
		}
	}
	p.unsure[c] = false
}

// saw reports whether p has looked at write n of config c.
func (p *process) saw(c int, n uint8) bool { return p.looks[c][n-1] != 0 }

// lastLook returns the newest write of config c that p looked at; 0 if none.
func (p *process) lastLook(c int) (n uint8) {
	for i, began := range p.looks[c] {
		if began != 0 {
			n = uint8(i + 1)
		}
	}
	return n
}

// ours reports whether the template has the mark of the last roll that p knows.
func (p *process) ours(w *world) bool { return p.mem.n == 0 || w.tmpl.mark == p.mem.mark }

// attempt reads the ledger if others wrote it, the workload, and the configs, and decides.
func (m *model) attempt(w *world, p *process) (held bool) {
	if p.stale && !m.product.noCAS {
		switch {
		case !w.ledger.known, p.mem.known && p.mem.n > w.ledger.n:
			p.dirty = p.mem.known
		default:
			m.takeLedger(w, p)
		}
		p.stale = false
	}
	p.told.rolled = p.told.rolled || w.ghost.n == 0 || w.object.known && w.object.mark == w.ghost.mark
	if newest := m.newest(w, w.object, p.mem); newest != p.mem {
		p.mem, p.dirty = newest, true
	}
	var verdicts [configs]verdict
	now := *w
	p.rolls = 0
	for c := range m.configs {
		if w.config[c].unreadable {
			continue
		}
		if n := p.lastLook(c); n != 0 && m.product.configsFirst {
			now.config[c].n = n
		} else {
			m.look(w, p, c)
		}
		verdicts[c] = m.decide(&now, p, c)
		switch {
		case verdicts[c].do != plan.Roll:
		case w.frozen:
			held, verdicts[c] = true, verdict{} // as a brake does
		default:
			p.rolls |= 1 << c
		}
	}
	rolls, then := m.together(&now, p, verdicts, w.clock)
	p.do, p.then = doNothing, state{}
	switch {
	case rolls:
		p.do, p.then = doRoll, then
	case then.of != p.mem.of:
		p.do, p.then = doNote, then
	}
	p.ignorant = p.do == doRoll && !p.told.rolled
	p.early, p.earlyOurs = false, false
	p.told.out = p.told.out || !w.opted && p.do == doNothing
	return held
}

// act writes what was decided. It returns the invariant that a roll breaks. A lost answer leaves the process as if nothing was written.
func (m *model) act(w *world, p *process, lost bool) (broken string) {
	do, then, rolls := p.do, p.then, p.rolls
	p.do, p.then, p.rolls = doNothing, state{}, 0
	if do == doNote {
		for c := range m.configs {
			e, was := then.of[c], p.mem.of[c]
			if e == was || e.write == 0 || e.out {
				continue
			}
			first := was.write == 0 || was.out
			x := w.config[c].writes[e.write-1]
			if p.told.rolled {
				w.ghost.applied[c] = x.content
			}
			appeared := !m.required && !m.counting.Creation && x.created > w.pods[0].at
			w.ghost.absentFirst = w.ghost.absentFirst || first && (x.content == gone || appeared)
			written := x.data
			if x.silent && w.hints && x.takes {
				written = x.at
			}
			w.ghost.unlisted = w.ghost.unlisted || first && w.ghost.fresh && written < w.written
		}
		p.mem, p.dirty = then, true
		p.caughtUp(then)
		for i := range w.procs {
			w.procs[i].told.noted = false
		}
		w.ghost.noted, w.told.noted, p.told.noted = true, false, true
		p.told.out = p.told.out || !w.opted
		return ""
	}
	m.atFirstSight = true
	for c, e := range p.mem.of {
		m.atFirstSight = m.atFirstSight && (rolls&(1<<c) == 0 || e.write == 0 || e.out)
	}
	broken = m.judgeRoll(w, p, then)
	onObject := then
	onObject.noted = 0
	for c := range onObject.of {
		if onObject.of[c].out {
			onObject.of[c] = entry{}
		}
	}
	rev := m.newRevision(w)
	then.mark, onObject.mark = rev, rev
	m.newTemplate(w, template{rev, rev}, onObject)
	if !lost {
		p.mem, p.dirty = then, true
	}
	for c := range m.configs {
		w.ghost.applied[c] = w.config[c].writes[max(1, then.of[c].write)-1].content
		w.ghost.rolled[c] = w.ghost.applied[c]
		w.ghost.wrote[c] = then.of[c].write
	}
	p.caughtUp(then)
	w.ghost.mark = rev
	w.ghost.n, w.ghost.between, w.ghost.undone, w.ghost.noted = then.n, false, false, false
	w.told.rolled = false
	for i := range w.procs {
		w.procs[i].told.rolled = false
	}
	for i := range w.procs {
		w.procs[i].unsure = [configs]bool{} // those pods will be replaced
	}
	p.told.rolled = !lost
	return broken
}

// takeLedger takes what another process wrote for what is known. Notes of p that were not written are void.
func (m *model) takeLedger(w *world, p *process) {
	for c, e := range w.ledger.of {
		if p.mem.of[c] != e && e.write != 0 && (w.told.rolled || w.ghost.n == 0) {
			w.ghost.applied[c] = w.content(c, e.write)
		}
	}
	p.mem, p.dirty = w.ledger, false
	p.told = told{p.told.rolled || w.told.rolled, w.told.noted, w.told.out}
}

// caughtUp ends the time in which p has found other content, if s is as new as its last look.
func (p *process) caughtUp(s state) {
	for c, e := range s.of {
		newer := false
		for n := e.write + 1; n <= maxWrites; n++ {
			newer = newer || p.saw(c, n)
		}
		p.away[c] = p.away[c] && (e.write == 0 || newer)
	}
}

// newTemplate writes a template and an annotation. The template and the annotation of before are what an undo brings back.
func (m *model) newTemplate(w *world, t template, object state) {
	if t.rev != w.tmpl.rev {
		w.prev, w.prevObject = w.tmpl, w.object
	}
	w.tmpl, w.object = t, object
	m.wroteWorkload(w)
}

// wroteWorkload notes that the workload was written.
func (m *model) wroteWorkload(w *world) {
	w.written = w.clock
	for i := range w.procs {
		if p := &w.procs[i]; p.do == doRoll || !m.product.noteAnyway {
			p.do, p.then, p.rolls = doNothing, state{}, 0
		}
	}
}

func (m *model) newRevision(w *world) uint8 {
	last := max(w.tmpl.rev, w.prev.rev, w.pods[0].rev, w.pods[1].rev)
	return last + 1
}

// flush writes to the ledger what it lacks, unless another process wrote it since.
func (m *model) flush(w *world, i int) {
	p := &w.procs[i]
	if p.stale && !m.product.noCAS {
		switch {
		case !w.ledger.known, p.mem.n > w.ledger.n:
			p.stale = false
		default:
			m.takeLedger(w, p)
			p.stale = false
		}
		return
	}
	if w.born == 0 {
		w.born, w.ghost.reborn = w.clock, true
	}
	w.ledger, w.told, p.dirty, p.stale = p.mem, p.told, false, false
	for j := range w.procs {
		if j != i && w.procs[j].alive {
			w.procs[j].stale = true
		}
	}
}

// canStart reports whether there is everything that a container needs.
func (m *model) canStart(w *world) bool {
	for c := range m.configs {
		if m.required && w.config[c].live().content == gone {
			return false
		}
	}
	return true
}

// startPod starts pod i with the current template.
func (m *model) startPod(w *world, i int) {
	w.pods[i] = pod{rev: w.tmpl.rev, at: w.clock}
	for c := range m.configs {
		w.pods[i].read[c] = w.config[c].n
		if w.config[c].live().content != w.ghost.applied[c] {
			w.ghost.between = true
		}
	}
	for j := range w.procs {
		for c := range m.configs {
			w.procs[j].unsure[c] = w.procs[j].alive
		}
	}
}
