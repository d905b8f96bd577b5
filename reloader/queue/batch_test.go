package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

// observed returns how many batches were stored in stream, and how many messages.
func observed(t *testing.T, q *Queue, stream string) (batches uint64, messages float64) {
	t.Helper()
	var m dto.Metric
	if err := q.metrics.messages.WithLabelValues(stream).(prometheus.Histogram).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()
}

func TestConcurrentCallersShareBatches(t *testing.T) {
	const callers, each = 32, 20
	q := open(t, Options{})
	var g errgroup.Group
	for caller := range callers {
		g.Go(func() error {
			for n := range each {
				r := record(fmt.Sprintf("workload-%d-%d", caller, n))
				if err := q.PutWorkload(testContext(t), r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	batches, messages := observed(t, q, workloadsStream)
	if messages != callers*each {
		t.Errorf("stored %v messages; want %d", messages, callers*each)
	}
	if batches > callers*each/4 {
		t.Errorf("%d batches for %d calls: callers did not share", batches, callers*each)
	}
	records, err := q.LoadWorkloads(testContext(t), "blue")
	if err != nil || len(records) != callers*each {
		t.Errorf("loaded %d records, %v", len(records), err)
	}
}

func TestRepeatedHintIsStoredOnce(t *testing.T) {
	q := open(t, Options{})
	again, other := hint("a"), hint("a")
	again.Received = again.Received.Add(1e9)
	other.Actor.User = "bob"
	if err := q.Put(testContext(t), []reloader.Hint{hint("a"), again, other, hint("a")}); err != nil {
		t.Fatal(err)
	}
	if _, messages := observed(t, q, hintsStream); messages != 2 {
		t.Errorf("stored %v hints; want the two that differ", messages)
	}
}

func of(ctx context.Context, identities ...any) *request {
	r := &request{ctx: ctx, done: make(chan error, 1)}
	for i, id := range identities {
		r.messages = append(r.messages, message{&nats.Msg{Subject: fmt.Sprint(id, i)}, id})
	}
	return r
}

func TestMerge(t *testing.T) {
	live := context.Background()
	gone, cancel := context.WithCancel(live)
	cancel()
	cases := map[string]struct {
		batch  []*request
		count  int
		places [][]int
	}{
		"nothing repeats":      {[]*request{of(live, "a"), of(live, "b")}, 2, [][]int{{0}, {1}}},
		"repeats are shared":   {[]*request{of(live, "a", "b", "a"), of(live, "b", "c")}, 3, [][]int{{0, 1, 0}, {1, 2}}},
		"nil never repeats":    {[]*request{of(live, nil, nil), of(live, nil)}, 3, [][]int{{0, 1}, {2}}},
		"a caller who is gone": {[]*request{of(gone, "a"), of(live, "b")}, 1, [][]int{nil, {0}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			messages, places := merge(c.batch)
			if diff := cmp.Diff(c.places, places); len(messages) != c.count || diff != "" {
				t.Errorf("%d messages; want %d: %s", len(messages), c.count, diff)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	live := context.Background()
	gone, cancel := context.WithCancel(live)
	cancel()
	boom := errors.New("boom")
	batch := []*request{of(live, "a", "b"), of(live, "c"), of(gone, "d")}
	answer(batch, [][]int{{0, 1}, {0}, nil}, []uint64{1, 2}, []error{nil, boom})
	for i, want := range []error{boom, nil, context.Canceled} {
		if err := <-batch[i].done; !errors.Is(err, want) {
			t.Errorf("request %d: %v; want %v", i, err, want)
		}
	}
}

func TestGatherKeepsWhatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batcher{requests: make(chan *request)}
		many := func(n int) *request { return of(t.Context(), make([]any, n)...) }
		big := many(maxBatch - 1)
		go func() { b.requests <- big }()
		synctest.Wait()
		batch := b.gather(many(2))
		if len(batch) != 1 || b.held != big {
			t.Fatalf("gathered %d requests, held %v", len(batch), b.held != nil)
		}
		small := many(1)
		go func() { b.requests <- small }()
		synctest.Wait()
		if batch := b.gather(b.held); len(batch) != 2 || batch[1] != small {
			t.Fatalf("gathered %d requests", len(batch))
		}
	})
}
