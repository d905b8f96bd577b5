package plan_test

import (
	"cmp"
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

// write is one write of a config: the content, when it was made, when data was last given a value, and when the object was made. takes
// says that it took a key away, of which the API server keeps no time, and silent that the content is newer than data.
type write struct {
	content, at, data, created uint8
	takes, silent              bool
}

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

// state is an applied.State. Its mark is the revision of the template that the roll made.
type state struct {
	known              bool
	n, at, mark, noted uint8
	of                 [configs]entry
}

// template is a pod template: its revision, and that of the roll whose mark it has. Revision 0 is the one that was created.
type template struct{ rev, mark uint8 }

// pod is a pod with what it has read, as positions of writes. accepted is what was live when its workload opted in, which Reroll takes for
// what it has read.
type pod struct {
	rev, at        uint8
	read, accepted [configs]uint8
	// lost has the content that it has read of writes that etcd lost, and 0 if it has none.
	lost [configs]uint8
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
	// ignorant says that it decided without knowing the last roll, and defiant that it did although the workload was held.
	rolls             uint8
	unsure, away      [configs]bool
	ignorant, defiant bool
	// told is what it must know: see told.
	told told
}

// What was decided.
const (
	doNothing = iota
	doNote
	doRoll
)

// etcd is what the API server stores. told is what the ledger was told: a ghost.
type etcd struct {
	config             [configs]config
	opted              bool
	written, changed   uint8
	object, prevObject state
	tmpl, prev         template
	ledger             state
	born               uint8
	told               told
}

// world is the whole state. All fields are bytes, so that it is hashed as memory. saved is a backup of etcd.
type world struct {
	etcd
	saved         etcd
	frozen, hints bool
	pods          [2]pod
	key           uint8
	procs         [2]process
	clock         uint8
	edits, faults uint8
	ghost         ghost
}

// told is what a process or the ledger was told: the last roll, the newest note, and that the workload has opted out. It is kept apart from
// what the product makes of it, so that a mistake is not excused by what it forgets.
type told struct {
	rolls      uint8
	noted, out bool
}

// ghost is what the invariants and exceptions need to know of the past.
type ghost struct {
	// applied has the content of the last roll or note, or that with which the workload began. rolled and wrote have the content and the write of
	// each config that the last roll applied, and n is its number.
	applied, rolled, wrote [configs]uint8
	n                      uint8
	// between says that since the last roll a pod started with other content, or a template was brought back.
	between bool
	// quiet says that no content was written since the last fixpoint, and fresh that some was since the workload opted in.
	quiet, fresh bool
	// undone says that an earlier template was brought back since the last roll, and backAt has the writes that were live then.
	undone bool
	backAt [configs]uint8
	// noted says that there is a note since the last roll, and back that the workload opted in again.
	noted, back bool
	// What gives rise to exceptions, until everything is well known again.
	amnesia, forgot, keyLost, unlisted, absentFirst, optedOut, atOnce, reborn bool
}

func (s *state) times(visit func(*uint8)) {
	visit(&s.at)
	visit(&s.noted)
}

func (e *etcd) times(visit func(*uint8)) {
	for i := range e.config {
		for j := range e.config[i].n {
			x := &e.config[i].writes[j]
			visit(&x.at)
			visit(&x.data)
			visit(&x.created)
		}
	}
	visit(&e.written)
	visit(&e.changed)
	visit(&e.born)
	e.object.times(visit)
	e.prevObject.times(visit)
	e.ledger.times(visit)
}

// times calls visit for every time in w.
func (w *world) times(visit func(*uint8)) {
	w.etcd.times(visit)
	if w.saved.config[0].n > 0 {
		w.saved.times(visit)
	}
	for i := range w.pods {
		visit(&w.pods[i].at)
	}
	for i := range w.procs {
		p := &w.procs[i]
		p.mem.times(visit)
		p.then.times(visit)
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

// coarse gives times that no rule can tell apart one value. Between which other times a time lies is all that a rule sees.
func (w *world) coarse() {
	var data, starts []uint8
	for i := range w.config {
		for j := range max(w.config[i].n, 1) - 1 {
			w.config[i].writes[j] = write{content: w.config[i].writes[j].content} // no rule reads the times of an earlier write
		}
		if w.config[i].n > 0 {
			live := &w.config[i].writes[w.config[i].n-1]
			if !w.hints {
				live.at = 0 // nobody knows
			}
			data = append(data, live.data, live.created, live.at)
		}
	}
	for _, p := range w.pods {
		starts = append(starts, p.at)
	}
	for _, s := range []*state{&w.object, &w.prevObject, &w.ledger, &w.procs[0].mem, &w.procs[0].then, &w.procs[1].mem, &w.procs[1].then} {
		s.at, s.noted = floor(s.at, data), floor(s.noted, data) // is data newer?
	}
	for _, t := range []*uint8{&w.written, &w.born, &w.procs[0].born, &w.procs[1].born} {
		*t = w.ceiling(*t, data) // is data as new?
	}
	changed := slices.Concat(data, w.procs[0].first[:], w.procs[1].first[:])
	w.changed = w.ceiling(w.changed, changed)
	for i := range w.procs {
		for c := range w.procs[i].looks {
			f := &w.procs[i].first[c]
			*f = max(floor(*f, append([]uint8{w.changed}, append(starts, data...)...)), min(*f, 1)) // did a pod start, was data written by then?
			for j := range w.procs[i].looks[c] {
				l := &w.procs[i].looks[c][j]
				*l = w.ceiling(*l, starts) // did a pod start since?
			}
		}
	}
	if w.faults == 0 {
		w.prev, w.prevObject, w.saved = template{}, state{}, etcd{}
	}
}

// floor returns the last of some times that is not after t.
func floor(t uint8, times []uint8) (last uint8) {
	for _, o := range times {
		if o <= t {
			last = max(last, o)
		}
	}
	return last
}

// ceiling returns the first of some times that is not before t, or now.
func (w *world) ceiling(t uint8, times []uint8) uint8 {
	if t == 0 {
		return 0
	}
	first := w.clock
	for _, o := range times {
		if o >= t {
			first = min(first, o)
		}
	}
	return first
}

// canonical gives equal worlds one form: times and revisions keep their order and lose their distance, and pods are sorted. Time 0 is
// unknown.
func (w world) canonical() world {
	w.coarse()
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
	for _, r := range []*uint8{
		&w.tmpl.rev, &w.prev.rev, &w.tmpl.mark, &w.prev.mark, &w.object.mark, &w.prevObject.mark, &w.ledger.mark,
		&w.saved.tmpl.rev, &w.saved.prev.rev, &w.saved.tmpl.mark, &w.saved.prev.mark, &w.saved.object.mark, &w.saved.prevObject.mark, &w.saved.ledger.mark,
		&w.procs[0].mem.mark, &w.procs[0].then.mark, &w.procs[1].mem.mark, &w.procs[1].then.mark,
	} {
		rev(r)
	}
	if comparePods(w.pods[0], w.pods[1]) > 0 {
		w.pods[0], w.pods[1] = w.pods[1], w.pods[0]
	}
	for i := range w.pods {
		rev(&w.pods[i].rev)
	}
	return w
}

func comparePods(a, b pod) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rev, b.rev), slices.Compare(a.lost[:], b.lost[:]), slices.Compare(a.read[:], b.read[:]), slices.Compare(a.accepted[:], b.accepted[:]))
}

// content returns the content of a write of a config, as it is now.
func (w *world) content(c int, n uint8) uint8 { return w.config[c].writes[n-1].content }

// has returns the content that a pod has read of a config.
func (w *world) has(p pod, c int) uint8 {
	if p.lost[c] != 0 {
		return p.lost[c] - 1
	}
	return w.content(c, p.read[c])
}
