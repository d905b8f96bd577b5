package queue

import (
	"maps"
	"sync"
	"time"
)

// sights are the copies that were handed over. They outlive the connection to the hub: it is after a cut that another of its servers answers,
// and perhaps with what was there before.
type sights struct {
	mu sync.Mutex
	// seen has the copy on each subject that was last handed over.
	seen map[string]sight
	// earlier is since when a copy is found on a subject that is earlier than that.
	earlier map[string]time.Time
}

// sight is a copy at the hub, and when it was stored by the clock there.
type sight struct {
	sequence uint64
	stored   time.Time
}

func newSights() *sights { return &sights{seen: map[string]sight{}, earlier: map[string]time.Time{}} }

// keep forgets all but those on the given subjects.
func (s *sights) keep(subjects map[string]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := func(subject string) bool { _, kept := subjects[subject]; return !kept }
	maps.DeleteFunc(s.seen, func(subject string, _ sight) bool { return left(subject) })
	maps.DeleteFunc(s.earlier, func(subject string, _ time.Time) bool { return left(subject) })
}

// lagTime is for how long a server of the hub may answer with what was there before.
const lagTime = time.Minute

// isNews reports whether the copy on a subject is a later one than that before, and takes note of it. One that is earlier for longer than a
// server may lag is of a stream that was made anew or set back, and so is one that was stored later.
func (s *sights) isNews(subject string, is newest, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.seen[subject]
	if is.sequence < was.sequence && !is.stored.After(was.stored) {
		since, before := s.earlier[subject]
		if !before {
			s.earlier[subject] = now
			return false
		}
		if now.Sub(since) < lagTime {
			return false
		}
	}
	delete(s.earlier, subject)
	s.seen[subject] = sight{is.sequence, is.stored}
	return was.sequence != is.sequence || !was.stored.Equal(is.stored)
}
