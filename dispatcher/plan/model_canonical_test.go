//go:build !race

package plan_test

import (
	"cmp"
	"slices"
)

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

// coarse gives times that no rule can distinguish one value. Between which other times a time lies is all that a rule sees.
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
	for i := range w.procs {
		for c := range w.procs[i].looks {
			f := &w.procs[i].first[c]
			*f = max(floor(*f, slices.Concat(starts, data)), min(*f, 1)) // did a pod start, was data written by then?
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
		&w.tmpl.rev, &w.prev.rev, &w.ghost.mark, &w.tmpl.mark, &w.prev.mark, &w.object.mark, &w.prevObject.mark, &w.ledger.mark,
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
