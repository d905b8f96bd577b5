package projection

import (
	"crypto/rand"
	"sync"

	"github.com/reroll-dev/reroll/reloader"
)

// feedLength is how many events are kept for those who read them late, each with a record of its own.
const feedLength = 4096

// Event is one thing that has just become known. One of its fields is set; if none is, everything that a reader knows may be out of date.
type Event struct {
	Change   *reloader.Change
	Reload   *reloader.Reload
	Workload *reloader.WorkloadRecord
	// Gone is a workload that asks for nothing any more, or does not exist.
	Gone *WorkloadKey
	// Cluster is the name of a cluster whose dispatcher has published its status.
	Cluster string

	once sync.Once
	body []byte
}

// Body returns what render makes of e. It is made once, for all readers.
func (e *Event) Body(render func(*Event) []byte) []byte {
	e.once.Do(func() { e.body = render(e) })
	return e.body
}

// feed keeps the newest events. Readers bring their own places along, so that none of them costs memory or can hold up another.
type feed struct {
	incarnation string

	mu sync.RWMutex
	// ring has event n at n modulo its length; last is the number of the newest.
	ring [feedLength]*Event
	last uint64
	// news is closed when the next event comes.
	news chan struct{}
}

func newFeed() *feed { return &feed{incarnation: rand.Text()[:10], news: make(chan struct{})} }

func (f *feed) add(e *Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.ring[f.last%feedLength] = e
	close(f.news)
	f.news = make(chan struct{})
}

// after returns up to most events that follow the one numbered n, and what is closed when the next one comes. It returns false if some of them are no longer kept, or n was never given out.
func (f *feed) after(n uint64, most int) (events []*Event, news <-chan struct{}, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if n > f.last || f.last-n > feedLength {
		return nil, f.news, false
	}
	for next := n + 1; next <= f.last && len(events) < most; next++ {
		events = append(events, f.ring[next%feedLength])
	}
	return events, f.news, true
}

func (f *feed) newest() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.last
}
