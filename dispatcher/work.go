package dispatcher

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/workqueue"

	"github.com/reroll-dev/reroll/reloader"
)

// queues have the keys that the workers of a Dispatcher take.
type queues struct {
	verifyQ workqueue.TypedRateLimitingInterface[reloader.Config]
	edgesQ  workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	flushQ  workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	settleQ workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	resumeQ workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	// rolloutQ has the workloads whose rollout may have a deadline to keep.
	rolloutQ workqueue.TypedRateLimitingInterface[reloader.WorkloadRef]
	driftQ   workqueue.TypedRateLimitingInterface[drift]
	// sweepQ has the scopes that could not be swept.
	sweepQ workqueue.TypedRateLimitingInterface[scope]
	// lookQ has the configs at which a sweep could not look.
	lookQ workqueue.TypedRateLimitingInterface[reloader.Config]
	// exportQ has the configs that other clusters are to be told of.
	exportQ workqueue.TypedRateLimitingInterface[reloader.Config]
}

func newQueues() queues {
	return queues{
		verifyQ:  newQueue[reloader.Config](time.Minute),
		edgesQ:   newQueue[reloader.WorkloadRef](time.Minute),
		flushQ:   newQueue[reloader.WorkloadRef](5 * time.Minute),
		settleQ:  newQueue[reloader.WorkloadRef](10 * time.Second),
		resumeQ:  newQueue[reloader.WorkloadRef](time.Minute),
		rolloutQ: newQueue[reloader.WorkloadRef](time.Minute),
		driftQ:   newQueue[drift](time.Minute),
		sweepQ:   newQueue[scope](time.Minute),
		lookQ:    newQueue[reloader.Config](time.Minute),
		exportQ:  newQueue[reloader.Config](time.Minute),
	}
}

// takeNoMore ends the workers of all queues but settleQ when they have done what they were given.
func (q *queues) takeNoMore() {
	for _, q := range []interface{ ShutDown() }{q.verifyQ, q.edgesQ, q.flushQ, q.resumeQ, q.rolloutQ, q.driftQ, q.sweepQ, q.lookQ, q.exportQ} {
		q.ShutDown()
	}
}

// newQueue returns a queue that gives each key to one worker at a time, and after failures waits from 50 ms up to longest.
func newQueue[K comparable](longest time.Duration) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[K](50*time.Millisecond, longest))
}

// again is what a worker returns to have its key given out again with growing pauses.
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
				case wait > 0:
					q.AddAfter(key, wait)
				default:
					q.Forget(key)
				}
				q.Done(key)
			}
		})
	}
}
