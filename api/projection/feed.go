package projection

import (
	"maps"
	"slices"
	"sync"
)

// Topic is a kind of records, by the name of its listing.
type Topic string

// The topics.
const (
	TopicChanges   Topic = "changes"
	TopicReloads   Topic = "reloads"
	TopicWorkloads Topic = "workloads"
	TopicClusters  Topic = "clusters"
)

// Topics are all of them.
var Topics = []Topic{TopicChanges, TopicReloads, TopicWorkloads, TopicClusters}

// Interest says whether news are for one reader: those about clusters have no namespace. It is called often, and must not block.
type Interest func(topic Topic, cluster, namespace string) bool

// Watch gathers for one reader which listings have changed. It holds no records, so that a slow reader costs nothing.
type Watch struct {
	feed     *feed
	interest Interest
	news     chan struct{}
	changed  map[Topic]bool
}

// News gets a value when there is something to take.
func (w *Watch) News() <-chan struct{} { return w.news }

// Take returns which listings have changed since the last Take, in order.
func (w *Watch) Take() []Topic {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	changed := slices.Sorted(maps.Keys(w.changed))
	clear(w.changed)
	return changed
}

// End lets go of the watch.
func (w *Watch) End() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	delete(w.feed.watches, w)
}

// feed tells every watch what has changed.
type feed struct {
	mu      sync.Mutex
	watches map[*Watch]struct{}
}

func (f *feed) watch(interest Interest) *Watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &Watch{feed: f, interest: interest, news: make(chan struct{}, 1), changed: map[Topic]bool{}}
	f.watches[w] = struct{}{}
	return w
}

// tell announces topics in a namespace of a cluster; empty if they are in none.
func (f *feed) tell(cluster, namespace string, topics []Topic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watches {
		for _, topic := range topics {
			if w.interest(topic, cluster, namespace) {
				w.take(topic)
			}
		}
	}
}

// tellAll tells everybody of everything.
func (f *feed) tellAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watches {
		for _, topic := range Topics {
			w.take(topic)
		}
	}
}

func (w *Watch) take(topic Topic) {
	w.changed[topic] = true
	select {
	case w.news <- struct{}{}:
	default:
	}
}
