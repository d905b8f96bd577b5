package hot

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestGate: as many requests as each limit allows are under way, and all of them have their turn or end with their context.
func TestGate(t *testing.T) {
	for name, test := range map[string]struct {
		namespaces, nodes bool
		limit             int
	}{"one namespace": {false, true, perNamespace}, "one node": {true, false, perNode}, "all": {true, true, inAll}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const calls = 40
				var g Gate
				var busy, done atomic.Int64
				turn := make(chan struct{})
				do := func(ctx context.Context, i int) error {
					pod := workload.RunningPod{Namespace: "shop", Node: "n"}
					if test.namespaces {
						pod.Namespace = fmt.Sprint("shop-", i)
					}
					if test.nodes {
						pod.Node = fmt.Sprint("n-", i)
					}
					return g.Do(ctx, pod, func(context.Context) error {
						busy.Add(1)
						<-turn
						done.Add(1)
						busy.Add(-1)
						return nil
					})
				}
				for i := range calls {
					go func() { _ = do(t.Context(), i) }()
				}
				synctest.Wait()
				over := errors.New("over")
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(over)
				if err := do(ctx, calls); !errors.Is(err, over) {
					t.Errorf("error %v", err)
				}
				for done.Load() < calls {
					if want := min(int64(test.limit), calls-done.Load()); busy.Load() != want {
						t.Fatalf("%d calls at a time after %d, want %d", busy.Load(), done.Load(), want)
					}
					turn <- struct{}{}
					synctest.Wait()
				}
			})
		})
	}
}
