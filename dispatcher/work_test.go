package dispatcher

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// A crowd begins when a workload waits for a worker and ends when the last roll is done, not when the last one has begun: what is written meanwhile would
// slow down the rolls. A roll that hangs keeps the rest waiting for maxCrowd only.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[reloader.WorkloadRef](time.Minute)
		defer q.ShutDown()
		f := newFair(2, q)
		first, second := reloader.WorkloadRef{Namespace: "shop", Name: "a"}, reloader.WorkloadRef{Namespace: "shop", Name: "b"}
		expect := func(when string, entered, crowded bool) {
			t.Helper()
			if !entered || f.crowded() != crowded {
				t.Errorf("%s: entered %v, crowded %v", when, entered, !crowded)
			}
		}
		expect("one roll", f.enter(first), false)
		expect("another waits", !f.enter(second), true)
		f.leave("shop")
		next, _ := q.Get()
		q.Done(next)
		expect("nothing is rolled", next == second, false)
		expect("the other is rolled", f.enter(second), false)
		expect("the first waits", !f.enter(first), true)
		<-time.After(maxCrowd)
		expect("a roll hangs", true, false)
		f.leave("shop")
		expect("the end", true, false)
	})
}
