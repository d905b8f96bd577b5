package dispatcher

import (
	"maps"
	"slices"
	"time"
)

// feedState says what canaries have told about the audit events of one API server.
type feedState string

const (
	// feedWaiting is before the first canary has come back or is overdue.
	feedWaiting feedState = "waiting"
	// feedHeard is while canaries come back.
	feedHeard feedState = "heard"
	// feedNotSetUp is while no canary has ever come back from any API server, and none has to.
	feedNotSetUp feedState = "notSetUp"
	// feedSilent is while the API server accepts canaries, and none has come back in time.
	feedSilent feedState = "silent"
	// feedRefused is while the API server does not accept them: it is away, or does not permit it.
	feedRefused feedState = "refused"
)

var feedStates = []feedState{feedWaiting, feedHeard, feedNotSetUp, feedSilent, feedRefused}

// forgetCanary is how much later than a silence begins a canary may still come back: API servers give up on a batch before that.
const forgetCanary = 10 * time.Minute

// feed is what is known of the audit events of all API servers, by address. It has no clock: whoever asks brings the time.
type feed struct {
	deadline time.Duration
	// optional says that a feed which never was proven is not missed, and proven that some canary has come back, in this process or before.
	optional, proven bool
	perches          map[string]*perch
}

// perch is one API server, through which canaries are sent.
type perch struct {
	state feedState
	// first is when the first canary was sent, and returned when the last one came back; zero if none did.
	first, returned time.Time
	// newest is when the youngest of those that came back was sent: a younger one may have overtaken an older one.
	newest time.Time
	// out has when each canary was sent that has not come back.
	out map[string]time.Time
	// refusedSince is when the API server first refused one in a row, and refusal why it refused the last one.
	refusedSince time.Time
	refusal      error
}

// finding is something that people should know about an API server.
type finding struct {
	address  string
	from, to feedState
	// lost says that a canary stayed away although a younger one came back.
	lost bool
	// ever says that some canary has come back before.
	ever    bool
	refusal error
}

func newFeed(deadline time.Duration, optional bool) *feed {
	return &feed{deadline: deadline, optional: optional, perches: map[string]*perch{}}
}

// keep forgets every API server that is not at one of the addresses, and returns those of them that may have held audit events when they went,
// but for what was told of before.
func (f *feed) keep(addresses []string) (gone []string) {
	for _, address := range slices.Sorted(maps.Keys(f.perches)) {
		if slices.Contains(addresses, address) {
			continue
		}
		if f.perches[address].state != feedRefused {
			gone = append(gone, address)
		}
		delete(f.perches, address)
	}
	return gone
}

// sent takes note of a canary that is about to be sent: it may come back before the request is answered.
func (f *feed) sent(address, id string, now time.Time) {
	p := f.perches[address]
	if p == nil {
		p = &perch{state: feedWaiting, first: now, out: map[string]time.Time{}}
		f.perches[address] = p
	}
	p.out[id] = now
}

// answered takes note of what the API server said to a canary that was sent.
func (f *feed) answered(address, id string, err error, now time.Time) {
	p := f.perches[address]
	switch {
	case p == nil:
	case err == nil:
		p.refusedSince, p.refusal = time.Time{}, nil
	default:
		delete(p.out, id)
		p.refusal = err
		if p.refusedSince.IsZero() {
			p.refusedSince = now
		}
	}
}

// heard takes note of a canary that came back, and reports whether it is one that was sent.
func (f *feed) heard(id string, now time.Time) bool {
	for _, p := range f.perches {
		at, out := p.out[id]
		if !out {
			continue
		}
		delete(p.out, id)
		f.prove(at)
		p.returned = now
		if at.After(p.newest) {
			p.newest = at
		}
		return true
	}
	return false
}

// prove takes note that a canary came back that was sent at a time. If it is the first one, those that were sent before it, when the feed was not
// set up, are not waited for any more.
func (f *feed) prove(sent time.Time) {
	if f.proven {
		return
	}
	f.proven = true
	for _, p := range f.perches {
		maps.DeleteFunc(p.out, func(_ string, at time.Time) bool { return at.Before(sent) })
	}
}

// judge brings every state up to date and returns what has come to light since it was last called, by address.
func (f *feed) judge(now time.Time) []finding {
	var found []finding
	for _, address := range slices.Sorted(maps.Keys(f.perches)) {
		p := f.perches[address]
		lost, overdue := p.missing(now, f.deadline)
		from := p.state
		p.state = p.next(overdue, now, f.deadline)
		if f.optional && !f.proven && (p.state == feedSilent || p.state == feedRefused) {
			p.state = feedNotSetUp
		}
		if from == feedSilent || from == feedNotSetUp {
			// What stayed away during a silence was told of by the silence.
			lost = false
			maps.DeleteFunc(p.out, func(_ string, at time.Time) bool { return at.Before(p.newest) })
		}
		if p.state != from || lost {
			found = append(found, finding{address, from, p.state, lost, !p.returned.IsZero(), p.refusal})
		}
	}
	return found
}

// missing reports whether a canary is late that a younger one has overtaken, which is told once, and whether one is late and none has.
func (p *perch) missing(now time.Time, deadline time.Duration) (lost, overdue bool) {
	for id, at := range p.out {
		switch age := now.Sub(at); {
		case age < deadline:
		case at.Before(p.newest):
			delete(p.out, id)
			lost = true
		case age > 3*deadline+forgetCanary:
			delete(p.out, id)
		default:
			overdue = true
		}
	}
	return lost, overdue
}

func (p *perch) next(overdue bool, now time.Time, deadline time.Duration) feedState {
	switch {
	case overdue:
		return feedSilent
	case !p.refusedSince.IsZero() && now.Sub(p.refusedSince) >= deadline:
		return feedRefused
	case !p.refusedSince.IsZero():
		return p.state
	case p.returned.IsZero():
		return feedWaiting
	case p.state == feedRefused && p.returned.Before(p.newestOut()):
		return feedRefused // it takes canaries again, and has not sent one back yet
	}
	return feedHeard
}

// newestOut is when the youngest canary was sent that has not come back; zero if all have.
func (p *perch) newestOut() (newest time.Time) {
	for _, at := range p.out {
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}

// count returns how many API servers are in a state.
func (f *feed) count(state feedState) (n int) {
	for _, p := range f.perches {
		if p.state == state {
			n++
		}
	}
	return n
}

// age returns how long no canary has come back from the API server that has been quiet longest; 0 if none was sent.
func (f *feed) age(now time.Time) (oldest time.Duration) {
	for _, p := range f.perches {
		last := p.first
		if p.returned.After(last) {
			last = p.returned
		}
		oldest = max(oldest, now.Sub(last))
	}
	return oldest
}
