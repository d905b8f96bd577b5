package dispatcher

import (
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/workqueue"
)

// newQueue returns a queue that gives each key to one worker at a time, and after failures waits from 50 ms up to longest. m measures
// it together with all others.
func newQueue[K comparable](m *stakaterMetrics, longest time.Duration) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](50*time.Millisecond, longest),
		workqueue.TypedRateLimitingQueueConfig[K]{Name: "dispatcher", MetricsProvider: m})
}

// again is what a worker returns to have its key given out again with growing pauses.
const again time.Duration = -1

// work starts n workers that take keys from q. A worker returns 0 when the key is done, again, or a time to wait.
func work[K comparable](g *errgroup.Group, n int, q workqueue.TypedRateLimitingInterface[K], do func(K) time.Duration) {
	for range n {
		g.Go(func() error {
			for {
				key, closed := q.Get()
				if closed {
					return nil
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
