package plan_test

import (
	"slices"
)

// The model is a small world: one workload with two pods, one or two configs, the ledger, and one or two processes of Reroll. It is searched
// breadth-first. What a process decides comes from the packages applied and plan themselves.

const (
	configs   = 2
	maxWrites = 5
)

// The contents of a config.
const (
	gone = iota
	contentA
	contentB
	contentC
)

// write is one write of a config: the content, when data was last given a value, and when the object was made.
type write struct{ content, data, created uint8 }

// config is a config with all of its writes; the last is live. A write is named by its position, from 1.
type config struct {
	writes     [maxWrites]write
	n          uint8
	unreadable bool
}

func (c config) live() write { return c.writes[c.n-1] }

// entry is what a state says of one config: a write, or 0 for none, and the key of its digest.
type entry struct {
	write, key uint8
	out        bool
}

// state is an applied.State.
type state struct {
	known        bool
	n, at, noted uint8
	of           [configs]entry
}

// template is a pod template: its revision, and the roll whose mark it has. Revision 0 is the one that was created.
type template struct{ rev, mark uint8 }

// pod is a pod with what it has read, as positions of writes.
type pod struct {
	rev, at uint8
	read    [configs]uint8
}

// process is one process of Reroll.
type process struct {
	alive bool
	// mem is what it knows of the ledger, and of the object; dirty says that the ledger lacks it, and stale that another wrote the ledger.
	// born is when the ledger was born, as far as it knows.
	mem          state
	dirty, stale bool
	born         uint8
	// looks has when the last look at each write began, and first when the first look ended that found the live one.
	looks [configs][maxWrites]uint8
	first [configs]uint8
	// do is what was decided, with this state after it. An attempt whose workload is written meanwhile gets 409, so it ends at once.
	do   uint8
	then state
	// Ghosts: rolls has the configs that ask for the roll. unsure says that a pod started since the process last found the content of the last
	// roll, before it found other content, which away says.
	rolls        uint8
	unsure, away bool
}

// What was decided.
const (
	doNothing = iota
	doNote
	doRoll
)

// world is the whole state. All fields are bytes, so that it is hashed as memory.
type world struct {
	config        [configs]config
	opted, frozen bool
	written       uint8
	object        state
	tmpl, prev    template
	changed       uint8
	prevObject    state
	pods          [2]pod
	ledger        state
	born          uint8
	key           uint8
	procs         [2]process
	clock         uint8
	edits, faults uint8
	ghost         ghost
}

// ghost is what the invariants and exceptions need to know of the past.
type ghost struct {
	// rolled has the content of the last roll, or that with which the workload began. wrote has the write of each config that the last roll
	// applied, and n is its number.
	rolled, wrote [configs]uint8
	n             uint8
	// between says that since the last roll a pod started with other content, or a template was brought back.
	between bool
	// quiet says that no content was written since the last fixpoint, and fresh that some was since the workload opted in.
	quiet, fresh bool
	// undone says that an earlier template was brought back since the last roll, and backAt has the writes that were live then.
	undone bool
	backAt [configs]uint8
	// noted is the newest note.
	noted state
	// What gives rise to exceptions, until everything is well known again.
	amnesia, forgot, keyLost, unlisted, absentFirst, lost, optedOut bool
}

// times calls visit for every time in w.
func (w *world) times(visit func(*uint8)) {
	of := func(s *state) { visit(&s.at); visit(&s.noted) }
	for i := range w.config {
		for j := range w.config[i].n {
			x := &w.config[i].writes[j]
			visit(&x.data)
			visit(&x.created)
		}
	}
	visit(&w.written)
	visit(&w.changed)
	visit(&w.born)
	of(&w.object)
	of(&w.prevObject)
	of(&w.ledger)
	of(&w.ghost.noted)
	for i := range w.pods {
		visit(&w.pods[i].at)
	}
	for i := range w.procs {
		p := &w.procs[i]
		of(&p.mem)
		of(&p.then)
		visit(&p.born)
		for c := range p.looks {
			visit(&p.first[c])
			for j := range p.looks[c] {
				visit(&p.looks[c][j])
			}
		}
	}
	visit(&w.clock)
}

// canonical gives equal worlds one form: times and revisions keep their order and lose their distance, and pods are sorted. Time 0 is
// unknown.
func (w world) canonical() world {
	for i := range w.config {
		for j := range max(w.config[i].n, 1) - 1 {
			w.config[i].writes[j] = write{content: w.config[i].writes[j].content} // no rule reads the times of an earlier write
		}
	}
	var used [256]uint8
	w.times(func(t *uint8) { used[*t] = 1 })
	used[0] = 0
	rank := uint8(0)
	for t := 1; t < len(used); t++ {
		if used[t] != 0 {
			rank++
			used[t] = rank
		}
	}
	w.times(func(t *uint8) { *t = used[*t] })

	var revs [256]uint8
	next := uint8(0)
	rev := func(r *uint8) {
		if *r == 0 {
			return
		}
		if revs[*r] == 0 {
			next++
			revs[*r] = next
		}
		*r = revs[*r]
	}
	rev(&w.tmpl.rev)
	rev(&w.prev.rev)
	if comparePods(w.pods[0], w.pods[1]) > 0 {
		w.pods[0], w.pods[1] = w.pods[1], w.pods[0]
	}
	for i := range w.pods {
		rev(&w.pods[i].rev)
	}
	return w
}

func comparePods(a, b pod) int {
	return slices.Compare(append([]uint8{a.rev, a.at}, a.read[:]...), append([]uint8{b.rev, b.at}, b.read[:]...))
}

// content returns the content of a write of a config, as it is now.
func (w *world) content(c int, n uint8) uint8 { return w.config[c].writes[n-1].content }
