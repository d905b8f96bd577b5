package clients

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestRateOfOneClient(t *testing.T) {
	r := NewRates(2, 4)
	now := time.Unix(1000, 0)
	allowed := 0
	for range 10 {
		if r.Allow("a", now) {
			allowed++
		}
	}
	if allowed != 4 || !r.Spent("a", now) || r.Spent("b", now) {
		t.Errorf("%d at once, want 4, and then none is left to this client alone", allowed)
	}
	now = now.Add(time.Second)
	more := []bool{r.Spent("a", now), r.Allow("a", now), r.Allow("a", now), r.Allow("a", now)}
	if want := []bool{false, true, true, false}; !slices.Equal(more, want) {
		t.Errorf("after a second: %t, want %t", more, want)
	}
}

// TestTurns: a client that has its turns gets no more until one ends, the others are not affected, and clients that do nothing are
// forgotten.
func TestTurns(t *testing.T) {
	turns := NewTurns(2)
	first, ok := turns.TryTake("a")
	_, also := turns.TryTake("a")
	if _, third := turns.TryTake("a"); !ok || !also || third {
		t.Fatalf("turns %t %t %t, want two", ok, also, third)
	}
	if done, ok := turns.TryTake("b"); !ok {
		t.Error("another client gets none")
	} else {
		done()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.Take(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("who waits in vain: %v", err)
	}
	waiting := make(chan func())
	go func() {
		done, err := turns.Take(t.Context(), "a")
		if err != nil {
			t.Error(err)
		}
		waiting <- done
	}()
	first()
	done := <-waiting
	done()
	if len(turns.byClient) != 1 {
		t.Errorf("%d clients are known, want the one that still does something", len(turns.byClient))
	}
}
