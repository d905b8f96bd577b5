package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// journal writes down what Follow hands over.
type journal struct {
	mu    sync.Mutex
	lines []string
	stop  context.CancelFunc
	done  chan error
}

func follow(t *testing.T, q *Queue) *journal {
	t.Helper()
	j := &journal{done: make(chan error, 1)}
	var ctx context.Context
	ctx, j.stop = context.WithCancel(context.Background())
	t.Cleanup(j.stop)
	write := func(format string, args ...any) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lines = append(j.lines, fmt.Sprintf(format, args...))
	}
	go func() {
		j.done <- q.Follow(ctx, Followed{
			Change:       func(s reloader.StoredChange) { write("change %d %s", s.Sequence, s.Change.New.Sum) },
			Reload:       func(sequence uint64, r reloader.Reload) { write("reload %d %s", sequence, r.ID) },
			Workload:     func(r reloader.WorkloadRecord) { write("workload %s", r.Workload) },
			WorkloadGone: func(cluster string, ref reloader.WorkloadRef) { write("gone %s %s", cluster, ref) },
			CaughtUp:     func() { write("caught up") },
		})
	}()
	return j
}

func (j *journal) has(line string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.lines, line)
}

func (j *journal) sorted() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := slices.Clone(j.lines)
	slices.Sort(lines)
	return lines
}

func TestFollowReplaysThenGoesLive(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	first := appendChange(t, q, change("a", "one"), 0)
	second := appendChange(t, q, change("a", "two"), first)
	subject, _ := configSubject(changePrefix, "blue", config("bad"))
	publish(t, q, subject, `{"v":99}`)
	err := errors.Join(q.AppendReload(ctx, reload("a", "r-1")), q.PutWorkload(ctx, record("a")),
		q.PutWorkload(ctx, record("b.c")), q.DeleteWorkload(ctx, "blue", workload("b.c")))
	if err != nil {
		t.Fatal(err)
	}
	j := follow(t, q)
	eventually(t, "caught up", func() bool { return j.has("caught up") })
	stored := []string{"caught up", "change 1 one", "change 2 two", "gone blue Deployment/shop/b.c", "reload 1 r-1", "workload Deployment/shop/a"}
	if diff := cmp.Diff(stored, j.sorted()); diff != "" {
		t.Fatal(diff)
	}
	if last := j.lines[len(j.lines)-1]; last != "caught up" {
		t.Errorf("caught up came before %q", last)
	}

	appendChange(t, q, change("a", "three"), second)
	err = errors.Join(q.AppendReload(ctx, reload("a", "r-2")), q.PutWorkload(ctx, record("d")), q.DeleteWorkload(ctx, "blue", workload("a")))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"change 4 three", "reload 2 r-2", "workload Deployment/shop/d", "gone blue Deployment/shop/a"} {
		eventually(t, line, func() bool { return j.has(line) })
	}
	if got, want := len(j.sorted()), len(stored)+4; got != want {
		t.Errorf("%d calls; want %d: %q", got, want, j.sorted())
	}
	j.stop()
	if err := <-j.done; err != nil {
		t.Errorf("Follow ended with %v", err)
	}
}

func TestFollowOfNothingCatchesUp(t *testing.T) {
	q := open(t, Options{})
	j := follow(t, q)
	eventually(t, "caught up", func() bool { return j.has("caught up") })
	closeQueue(t, q)
	if err := <-j.done; !errors.Is(err, ErrClosed) {
		t.Errorf("Follow ended with %v; want ErrClosed", err)
	}
}
