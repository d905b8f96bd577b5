package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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

			ChangesLost:   func() { write("changes lost") },
			ReloadsLost:   func() { write("reloads lost") },
			WorkloadsLost: func() { write("workloads lost") },
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

// about returns the lines that begin with a word, in their order.
func (j *journal) about(word string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for _, line := range j.lines {
		if strings.HasPrefix(line, word) {
			lines = append(lines, line)
		}
	}
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

// TestStreamIsRecognized has more in the new stream than was seen of the old one, so that its length tells nothing.
func TestStreamIsRecognized(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	lost := 0
	f, s := &following{q: q, created: map[string]time.Time{}}, followedStream{name: changesStream, lost: func() { lost++ }}
	s.after = appendChange(t, q, change("a", "old"), 0)
	for range 2 {
		if err := f.recognize(ctx, &s); err != nil || lost != 0 {
			t.Fatalf("the stream that is followed: %v, lost %d times", err, lost)
		}
	}
	if err := errors.Join(q.js.DeleteStream(ctx, changesStream), q.ensureStreams(ctx)); err != nil {
		t.Fatal(err)
	}
	appendChange(t, q, change("a", "new-1"), appendChange(t, q, change("a", "new-0"), 0))
	if err := f.recognize(ctx, &s); !errors.Is(err, errAnew) || lost != 1 || s.after != 0 {
		t.Errorf("another stream: %v, lost %d times, goes on after %d", err, lost, s.after)
	}
	if err := f.recognize(ctx, &s); err != nil || lost != 1 {
		t.Errorf("the new stream: %v, lost %d times", err, lost)
	}
}

func TestFollowNoticesAStreamMadeAnew(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	appendChange(t, q, change("a", "old"), 0)
	if err := q.AppendReload(ctx, reload("a", "r-1")); err != nil {
		t.Fatal(err)
	}
	j := follow(t, q)
	eventually(t, "caught up", func() bool { return j.has("caught up") })
	if err := errors.Join(q.js.DeleteStream(ctx, changesStream), q.ensureStreams(ctx)); err != nil {
		t.Fatal(err)
	}
	var last uint64
	for n := range 3 {
		last = appendChange(t, q, change("a", fmt.Sprint("new-", n)), last)
	}
	eventually(t, "following again", func() bool { return j.has("change 3 new-2") })
	want := []string{"change 1 old", "changes lost", "change 1 new-0", "change 2 new-1", "change 3 new-2"}
	if diff := cmp.Diff(want, j.about("change")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"reload 1 r-1"}, j.about("reload")); diff != "" {
		t.Errorf("the other streams were not lost: %s", diff)
	}
}

// TestFollowNoticesARestoredBackup has the same stream come back as it was earlier.
func TestFollowNoticesARestoredBackup(t *testing.T) {
	dir, backup := t.TempDir(), t.TempDir()
	s := external(t, dir, -1, nil)
	port := s.Addr().(*net.TCPAddr).Port
	q := open(t, Options{URL: s.ClientURL()})
	first := appendChange(t, q, change("a", "one"), 0)
	stopServer(s)
	if err := os.CopyFS(backup, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s = external(t, dir, port, nil)
	eventually(t, "healthy again", func() bool { return q.Healthy(testContext(t)) == nil })
	j := follow(t, q)
	second := appendChange(t, q, change("a", "two"), first)
	appendChange(t, q, change("a", "three"), second)
	eventually(t, "following", func() bool { return j.has("change 3 three") })

	stopServer(s)
	external(t, backup, port, nil)
	eventually(t, "healthy again", func() bool { return q.Healthy(testContext(t)) == nil })
	eventually(t, "noticed", func() bool { return j.has("changes lost") })
	appendChange(t, q, change("a", "four"), first)
	eventually(t, "following again", func() bool { return j.has("change 2 four") })
	want := []string{"change 1 one", "change 2 two", "change 3 three", "changes lost", "change 1 one", "change 2 four"}
	if diff := cmp.Diff(want, j.about("change")); diff != "" {
		t.Error(diff)
	}
}
