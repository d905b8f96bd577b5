package dispatcher

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/reroll-dev/reroll/reloader"
)

// queues have the keys that the workers of a Dispatcher take. A key is worked on by one worker at a time.
type queues struct {
	// configQ has configs to be looked at, and workloadQ workloads whose turn it is.
	configQ   workqueue.TypedRateLimitingInterface[reloader.Config]
	workloadQ workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	// recordQ has workloads whose record or reloads must be stored, and changeQ configs whose changes are.
	recordQ workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	changeQ workqueue.TypedRateLimitingInterface[reloader.Config]
	// exportQ has configs that other clusters follow.
	exportQ workqueue.TypedRateLimitingInterface[reloader.Config]
	// owedQ has workloads on which something must be undone when it is due.
	owedQ workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	// ledgerQ has namespaces whose ledger must be written.
	ledgerQ workqueue.TypedRateLimitingInterface[string]
}

func newQueues() queues {
	return queues{
		configQ:   newQueue[reloader.Config](time.Minute),
		workloadQ: newQueue[reloader.WorkloadRef](5 * time.Minute),
		recordQ:   newQueue[reloader.WorkloadRef](10 * time.Second),
		changeQ:   newQueue[reloader.Config](10 * time.Second),
		exportQ:   newQueue[reloader.Config](time.Minute),
		owedQ:     newQueue[reloader.WorkloadRef](time.Minute),
		ledgerQ:   newQueue[string](10 * time.Second),
	}
}

// newQueue returns a queue that repeats what fails after 50 ms at first, and after at most longest.
func newQueue[K comparable](longest time.Duration) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[K](50*time.Millisecond, longest))
}

// again asks for another try, with growing pauses.
const again time.Duration = -1

// job does what is due for a key. It returns 0 when that is done, again, or a time to wait. An error is logged, and asks for another try.
type job[K comparable] = func(context.Context, K) (time.Duration, error)

// work starts n workers of g that take keys from q. Once begin has ended, keys are dropped instead.
func work[K comparable](ctx, begin context.Context, g *sync.WaitGroup, log *slog.Logger, n int, q workqueue.TypedRateLimitingInterface[K], do job[K]) {
	for range n {
		g.Go(func() {
			for {
				key, closed := q.Get()
				if closed {
					return
				}
				if begin.Err() != nil {
					q.Done(key)
					continue
				}
				wait, err := do(ctx, key)
				if err != nil {
					log.Warn("not done yet", "error", err)
				}
				switch {
				case wait > 0: // a failed roll continues from there
					q.AddAfter(key, wait)
				case err != nil || wait == again:
					q.AddRateLimited(key)
				default:
					q.Forget(key)
				}
				q.Done(key)
			}
		})
	}
}

// fair shares the workers of a queue among namespaces: one may have as many as it leaves free. An admission webhook of a tenant hangs, and every
// roll in the tenant's namespace keeps its worker for half a minute: they get half of the workers, a second such namespace half of the rest, and
// so on. Workloads beyond that wait outside the queue, and say so when that takes long.
type fair struct {
	q workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]

	mu      sync.Mutex
	free    int
	busy    map[string]int
	waiting map[string]map[reloader.WorkloadRef]struct{}
	// crowd is when a crowd was seen first; zero if there is none.
	crowd time.Time
}

// sayWaiting is after what time a workload says that it waits for others of its namespace.
const sayWaiting = 5 * time.Second

const namespaceBusy = "the API server does not answer Reroll's patches in this namespace; check the API server and its admission webhooks"

func newFair(workers int, q workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]) *fair {
	return &fair{q: q, free: workers, busy: map[string]int{}, waiting: map[string]map[reloader.WorkloadRef]struct{}{}}
}

// among returns do for the workers of the queue. late is called with a workload that waits, and returns when it says so again although its turn has not
// come; 0 if never.
func (f *fair) among(do job[reloader.WorkloadRef], late func(reloader.WorkloadRef) time.Duration) job[reloader.WorkloadRef] {
	return func(ctx context.Context, ref reloader.WorkloadRef) (time.Duration, error) {
		if !f.enter(ref) {
			return late(ref), nil
		}
		defer f.leave(ref.Namespace)
		return do(ctx, ref)
	}
}

// enter reports whether ref may have a worker now. Otherwise it is among those that come again when one is free.
func (f *fair) enter(ref reloader.WorkloadRef) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[ref.Namespace] < f.free {
		f.busy[ref.Namespace]++
		f.free--
		return true
	}
	put(f.waiting, ref.Namespace, ref, struct{}{})
	return false
}

// leave frees a worker, and has one workload of each namespace that waits try again.
func (f *fair) leave(namespace string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free++
	if f.busy[namespace]--; f.busy[namespace] == 0 {
		delete(f.busy, namespace)
	}
	for waiting, refs := range f.waiting {
		for ref := range refs {
			drop(f.waiting, waiting, ref)
			f.q.Add(ref)
			break
		}
	}
}

// maxCrowd bounds how long the rolls of a crowd come before their records.
const maxCrowd = 10 * time.Second

// crowded reports whether there is a crowd, so that records have to wait: one begins when a workload waits for a worker, and ends when no
// worker is busy.
func (f *fair) crowded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.busy) == 0 {
		f.crowd = time.Time{}
	} else if f.crowd.IsZero() && len(f.waiting) > 0 {
		f.crowd = time.Now()
	}
	return time.Since(f.crowd) < maxCrowd
}
