package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// maxOverheard is how many overheard hints are kept until they come by the stream. With more than that, others wait for the stream.
	maxOverheard = 1000
	// earshot is after what time an overheard hint is no longer expected to come by the stream.
	earshot = time.Minute
)

// utterance tells apart the hints that one process has received.
type utterance struct {
	config   reloader.Config
	auditID  string
	verb     reloader.Verb
	received int64
}

func uttered(h reloader.Hint) utterance {
	return utterance{h.Config, h.AuditID, h.Verb, h.Received.UnixNano()}
}

// Overhear has a look taken at configs while the hints about them are still being stored, where no workload waits for a window anyway.
// The hints must come by Handle as well, where those that such a look has answered need no other. If they cannot be stored, whoever sent
// them sends them again; if this process ends before that, they are what a lost audit event is. It returns at once.
func (d *Dispatcher) Overhear(hints []reloader.Hint) {
	if d.Window > 0 || !d.ready.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range hints {
		c := h.Config
		if h.Cluster != d.Cluster || c.Name == "" || h.OutcomeUnknown() || !d.needed(c) || len(d.answered) >= maxOverheard {
			continue
		}
		d.answered[uttered(h)] = time.Time{}
		d.overheard[c] = append(d.overheard[c], h)
		d.verifyQ.Add(c)
	}
}

// answer takes note that a look has answered q, or that none has: then the stream brings again what was overheard. The caller holds mu.
func (d *Dispatcher) answer(q question, err error) {
	for _, h := range q.early {
		if err != nil {
			delete(d.answered, uttered(h))
			continue
		}
		d.answered[uttered(h)] = time.Now()
	}
	if q.second && err == nil {
		delete(d.relook, q.config)
	}
}

// dropAnswered takes those deliveries out that an overheard look has answered, and returns both. The caller holds mu.
func (d *Dispatcher) dropAnswered(deliveries []Delivery) (open, answered []Delivery) {
	for _, del := range deliveries {
		u := uttered(del.Hint())
		if d.answered[u].IsZero() {
			open = append(open, del)
			continue
		}
		delete(d.answered, u)
		answered = append(answered, del)
	}
	return open, answered
}

// forgetAnswered forgets overheard hints that did not come by the stream. The caller holds mu.
func (d *Dispatcher) forgetAnswered(now time.Time) {
	for u, at := range d.answered {
		if !at.IsZero() && now.Sub(at) > earshot {
			delete(d.answered, u)
		}
	}
}

// question is what there is to be found out about a config.
type question struct {
	config reloader.Config
	// open are the deliveries that wait for a look, answered those that need none any more.
	open, answered []Delivery
	// early are overheard hints.
	early []reloader.Hint
	// second says that a second look is due, idle that there is nothing to look for.
	second, idle bool
}

// ask takes what has been asked about c since it was last called. The caller holds mu.
func (d *Dispatcher) ask(c reloader.Config, now time.Time) (q question) {
	q.config = c
	q.open, q.answered = d.dropAnswered(d.parked[c])
	q.early = d.overheard[c]
	delete(d.parked, c)
	delete(d.overheard, c)
	at, wanted := d.relook[c]
	q.second = wanted && !now.Before(at)
	q.idle = len(q.answered) > 0 && len(q.open)+len(q.early) == 0 && !q.second
	return q
}

// hints are the reasons to look.
func (q question) hints() []reloader.Hint {
	hints := slices.Clone(q.early)
	for _, del := range q.open {
		hints = append(hints, del.Hint())
	}
	return hints
}
