package dispatcher

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/reroll-dev/reroll/reloader"
)

// namespaceShare is the part of the workers of a queue, as a divisor, that the workloads of one namespace may have: what hangs there, as an
// admission webhook of a tenant does, leaves the others free.
const namespaceShare = 4

// fair gives each namespace no more than its share of the workers of a queue. Whoever is beyond that waits beside the queue.
type fair struct {
	share int
	q     workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]

	mu      sync.Mutex
	busy    map[string]int
	waiting map[string]map[reloader.WorkloadRef]struct{}
}

func newFair(workers int, q workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]) *fair {
	return &fair{
		share: max(1, workers/namespaceShare), q: q, busy: map[string]int{}, waiting: map[string]map[reloader.WorkloadRef]struct{}{},
	}
}

// among returns do for the workers of the queue.
func (f *fair) among(do func(reloader.WorkloadRef) time.Duration) func(reloader.WorkloadRef) time.Duration {
	return func(ref reloader.WorkloadRef) time.Duration {
		if !f.enter(ref) {
			return aside
		}
		defer f.leave(ref.Namespace)
		return do(ref)
	}
}

// enter reports whether ref may have a worker now. Otherwise it comes again when one of its namespace is free.
func (f *fair) enter(ref reloader.WorkloadRef) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[ref.Namespace] < f.share {
		f.busy[ref.Namespace]++
		return true
	}
	put(f.waiting, ref.Namespace, ref, struct{}{})
	return false
}

func (f *fair) leave(namespace string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[namespace]--; f.busy[namespace] == 0 {
		delete(f.busy, namespace)
	}
	for ref := range f.waiting[namespace] {
		drop(f.waiting, namespace, ref)
		f.q.Add(ref)
		return
	}
}
