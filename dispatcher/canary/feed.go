package canary

import (
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// state is what canaries have told about the audit events of one API server.
type state string

const (
	// waiting is before the first canary has come back or is overdue.
	waiting state = "waiting"
	// heard is while canaries come back.
	heard state = "heard"
	// notSetUp is while no canary has ever come back from any API server, and the feed is optional.
	notSetUp state = "notSetUp"
	// silent is while the API server accepts canaries, and none has come back in time.
	silent state = "silent"
	// refused is while the API server does not accept canaries: it is away, or does not permit them.
	refused state = "refused"
)

// states has all states. Of several kinds, the state that comes first here is that of the API server. An optional kind that is not set up is not a
// problem where another kind is heard.
var states = []state{silent, refused, waiting, heard, notSetUp}

// forgetCanary is the time after the beginning of a silence within which a canary may still come back: API servers give up on a batch before that.
const forgetCanary = 10 * time.Minute

// feed is what canaries of one kind have told about the audit events of all API servers, by address. It has no clock: callers pass the time.
type feed struct {
	deadline time.Duration
	// optional says that a feed that was never proven is not a problem. proven says that some canary has come back, in this process or before.
	optional, proven bool
	servers          map[string]*server
}

// server is one API server, through which canaries are sent.
type server struct {
	state state
	// first is when the first canary was sent, and returned when the last one came back; zero if none did.
	first, returned time.Time
	// newest is when the youngest of those that came back was sent. A younger canary may have overtaken an older one.
	newest time.Time
	// out has the canaries that have not come back, with the time when each was sent.
	out map[string]time.Time
	// refusedSince is when the current row of refusals began, and refusal is the newest of them.
	refusedSince time.Time
	refusal      error
}

// finding is news about an API server: it was in the state from before.
type finding struct {
	server
	address string
	from    state
	// lost says that a canary stayed away although a younger one came back.
	lost bool
}

// sent notes a canary before it is sent, since it may come back before the request is answered.
func (f *feed) sent(address, id string, now time.Time) {
	s := f.servers[address]
	if s == nil {
		s = &server{state: waiting, first: now, out: map[string]time.Time{}}
		f.servers[address] = s
	}
	s.out[id] = now
}

// answered notes the answer of the API server to a canary that was sent.
func (f *feed) answered(address, id string, err error, now time.Time) {
	s := f.servers[address]
	switch {
	case s == nil:
	case err == nil:
		s.refusedSince, s.refusal = time.Time{}, nil
	default:
		delete(s.out, id)
		s.refusal = err
		if s.refusedSince.IsZero() {
			s.refusedSince = now
		}
	}
}

func (f *feed) heard(id string, now time.Time) {
	for _, s := range f.servers {
		at, out := s.out[id]
		if !out {
			continue
		}
		delete(s.out, id)
		f.prove(at)
		s.returned, s.newest = now, reloader.Later(s.newest, at)
	}
}

// prove notes that a canary came back that was sent at a time. If it is the first one ever, the feed was not set up when earlier ones were sent, so
// it forgets those.
func (f *feed) prove(sent time.Time) {
	if f.proven {
		return
	}
	f.proven = true
	for _, s := range f.servers {
		maps.DeleteFunc(s.out, func(_ string, at time.Time) bool { return at.Before(sent) })
	}
}

// judge brings every state up to date and returns what has come to light since it was last called, sorted by address.
func (f *feed) judge(now time.Time) []finding {
	var found []finding
	for _, address := range slices.Sorted(maps.Keys(f.servers)) {
		s := f.servers[address]
		lost, overdue := s.missing(now, f.deadline)
		from := s.state
		s.state = s.next(overdue, now, f.deadline)
		if f.optional && !f.proven && (s.state == silent || s.state == refused) {
			s.state = notSetUp
		}
		if from == silent || from == notSetUp {
			// The silence was reported, so the canaries that it has swallowed are not.
			lost = false
			maps.DeleteFunc(s.out, func(_ string, at time.Time) bool { return at.Before(s.newest) })
		}
		if s.state != from || lost {
			found = append(found, finding{*s, address, from, lost})
		}
	}
	return found
}

// missing reports whether a canary is late that a younger one has overtaken, which is reported once, and whether one is late that none has.
func (s *server) missing(now time.Time, deadline time.Duration) (lost, overdue bool) {
	for id, at := range s.out {
		switch age := now.Sub(at); {
		case age < deadline:
		case at.Before(s.newest):
			delete(s.out, id)
			lost = true
		case age > 3*deadline+forgetCanary:
			delete(s.out, id)
		default:
			overdue = true
		}
	}
	return lost, overdue
}

func (s *server) next(overdue bool, now time.Time, deadline time.Duration) state {
	switch {
	case overdue:
		return silent
	case !s.refusedSince.IsZero() && now.Sub(s.refusedSince) >= deadline:
		return refused
	case !s.refusedSince.IsZero():
		return s.state
	case s.returned.IsZero():
		return waiting
	}
	return heard
}
