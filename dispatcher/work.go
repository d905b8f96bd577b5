package dispatcher

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
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
	// scopeQ has scopes that a sweep could not list.
	scopeQ workqueue.TypedRateLimitingInterface[scope]
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
		scopeQ:    newQueue[scope](time.Minute),
		ledgerQ:   newQueue[string](10 * time.Second),
	}
}

// newQueue returns a queue that repeats what fails after 50 ms at first, and after at most longest.
func newQueue[K comparable](longest time.Duration) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[K](50*time.Millisecond, longest))
}

// again asks for another try, with growing pauses.
const again time.Duration = -1

// work starts n workers that take keys from q. A worker returns 0 when the key is done, again, or a time to wait. Once ctx has ended, keys are
// dropped instead.
func work[K comparable](ctx context.Context, g *errgroup.Group, n int, q workqueue.TypedRateLimitingInterface[K], do func(K) time.Duration) {
	for range n {
		g.Go(func() error {
			for {
				key, closed := q.Get()
				if closed {
					return nil
				}
				if ctx.Err() != nil {
					q.Done(key)
					continue
				}
				switch wait := do(key); {
				case wait == again:
					q.AddRateLimited(key)
				case wait > 0: // a failed roll continues from there
					q.AddAfter(key, wait)
				default:
					q.Forget(key)
				}
				q.Done(key)
			}
		})
	}
}

// shutDown has the workers of queues end when they are empty.
func (queues) shutDown(all ...interface{ ShutDown() }) {
	for _, q := range all {
		q.ShutDown()
	}
}
