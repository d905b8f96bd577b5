package hot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestGate: as many requests as each limit allows are under way, all of them have their turn, and nothing is left in memory.
func TestGate(t *testing.T) {
	for name, test := range map[string]struct {
		pods  func(i int) workload.RunningPod
		limit int
	}{
		"one workload":  {func(i int) workload.RunningPod { return at("shop", "web", i) }, perWorkload},
		"one namespace": {func(i int) workload.RunningPod { return at("shop", fmt.Sprint("web-", i), i) }, perNamespace},
		"one node":      {func(i int) workload.RunningPod { return at(fmt.Sprint("shop-", i), "web", 0) }, perNode},
		"all":           {func(i int) workload.RunningPod { return at(fmt.Sprint("shop-", i), "web", i) }, inAll},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const calls = 40
				var g Gate
				var mu sync.Mutex
				busy, done := 0, 0
				turn := make(chan struct{})
				for i := range calls {
					go func() {
						_ = g.Do(t.Context(), test.pods(i), func(context.Context) error {
							mu.Lock()
							busy++
							mu.Unlock()
							<-turn
							mu.Lock()
							defer mu.Unlock()
							busy--
							done++
							return nil
						})
					}()
				}
				synctest.Wait()
				for done < calls {
					if want := min(test.limit, calls-done); busy != want {
						t.Fatalf("%d calls at a time after %d, want %d", busy, done, want)
					}
					turn <- struct{}{}
					synctest.Wait()
				}
				if len(g.lanes) != 0 {
					t.Errorf("left: %v", g.lanes)
				}
			})
		})
	}
}

// TestGateEnds: a call that waits ends with its context.
func TestGateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		full, leave := make(chan struct{}), make(chan struct{})
		for range perWorkload {
			go func() {
				_ = g.Do(t.Context(), at("shop", "web", 0), func(context.Context) error {
					full <- struct{}{}
					<-leave
					return nil
				})
			}()
			<-full
		}
		over := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(over)
		if err := g.Do(ctx, at("shop", "web", 1), func(context.Context) error { return nil }); !errors.Is(err, over) {
			t.Errorf("error %v", err)
		}
		close(leave)
		synctest.Wait()
		if len(g.lanes) != 0 {
			t.Errorf("left: %v", g.lanes)
		}
	})
}

func at(namespace, name string, node int) workload.RunningPod {
	return workload.RunningPod{Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: namespace, Name: name}, Node: fmt.Sprint("n-", node)}
}
