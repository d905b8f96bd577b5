package auditlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childLog); path != "" {
		os.Exit(runChild(path))
	}
	goleak.VerifyTestMain(m)
}

const waitTime = 30 * time.Second

// line is the audit log's line about the config called name.
func line(name string) string {
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"` + name + `","stage":"ResponseComplete",` +
		`"requestURI":"/","verb":"update","user":{"username":"ana"},"objectRef":{"resource":"secrets","namespace":"shop","name":"` + name +
		`","apiVersion":"v1"},"responseStatus":{"code":200},"stageTimestamp":"2026-11-21T12:00:00.000000Z"}` + "\n"
}

func name(n int) string { return fmt.Sprintf("config-%d", n) }

// sink remembers how often each config was hinted at.
type sink struct {
	mu    sync.Mutex
	names map[string]int
	err   error
	calls int
}

func (s *sink) Put(_ context.Context, hints []reloader.Hint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.err != nil {
		return s.err
	}
	if s.names == nil {
		s.names = map[string]int{}
	}
	for _, h := range hints {
		if h.Source != reloader.SourceAuditLog || h.Cluster != "prod" {
			return fmt.Errorf("hint from %s of %s", h.Source, h.Cluster)
		}
		s.names[h.Config.Name]++
	}
	return nil
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.calls = err, 0
}

func (s *sink) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name]
}

func (s *sink) tries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// rig is a folder with a log, and a Tail that can be stopped and started.
type rig struct {
	t        *testing.T
	dir      string
	log      string
	sink     *sink
	opts     Options
	registry *prometheus.Registry
	tail     *Tail
	stop     func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, dir: dir, log: filepath.Join(dir, "audit.log"), sink: &sink{}, stop: func() {}}
	r.opts = Options{
		Path: r.log, StatePath: filepath.Join(dir, "audit.log.place"), Cluster: "prod", Sink: r.sink,
		Limits: Limits{Poll: 2 * time.Millisecond, RetryMin: time.Millisecond, RetryMax: 2 * time.Millisecond, BatchLines: 7},
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// start starts a Tail, as after a restart if there was one before.
func (r *rig) start() {
	r.t.Helper()
	r.registry = prometheus.NewRegistry()
	r.opts.Registerer = r.registry
	tail, err := New(r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.tail = tail
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tail.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
		r.stop = func() {}
	}
}

func (r *rig) append(path string, text string) {
	r.t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) write(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.append(r.log, line(n))
	}
}

func (r *rig) rename(to string) {
	r.t.Helper()
	r.must(os.Rename(r.log, filepath.Join(r.dir, to)))
}

// copyTruncate copies the log and empties it.
func (r *rig) copyTruncate(to string) {
	r.t.Helper()
	content, err := os.ReadFile(r.log)
	r.must(err)
	r.must(os.WriteFile(filepath.Join(r.dir, to), content, 0o600))
	r.must(os.Truncate(r.log, 0))
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// wait waits until every config was hinted at.
func (r *rig) wait(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.eventually("hint about "+n, func() bool { return r.sink.count(n) > 0 })
	}
}

// once checks that each was hinted at exactly once.
func (r *rig) once(names ...string) {
	r.t.Helper()
	for _, n := range names {
		if got := r.sink.count(n); got != 1 {
			r.t.Errorf("%d hints about %s, want 1", got, n)
		}
	}
}

func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(waitTime)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			r.t.Fatalf("timed out: %s", what)
		}
	}
}

func (r *rig) metric(name string, label string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	r.must(err)
	total := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return total
}

func TestLinesBecomeHints(t *testing.T) {
	r := newRig(t)
	r.write("a", "b")
	r.start()
	r.wait("a", "b")
	r.write("c")
	r.wait("c")
	r.once("a", "b", "c")
	r.eventually("all is counted", func() bool { return r.metric("reroll_auditlog_events_total", "Hint") == 3 })
	if n := r.metric("reroll_auditlog_unread_bytes", ""); n != 0 {
		t.Errorf("%v bytes unread", n)
	}
}

func TestFileThatComesLater(t *testing.T) {
	r := newRig(t)
	r.start()
	r.eventually("unhealthy without a file", func() bool { return r.tail.Healthy(t.Context()) != nil })
	r.write("a")
	r.wait("a")
	r.eventually("healthy with one", func() bool { return r.tail.Healthy(t.Context()) == nil })
}

func TestFileThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.must(os.Mkdir(r.log, 0o700))
	r.start()
	r.eventually("unhealthy", func() bool { return r.tail.Healthy(t.Context()) != nil })
	r.must(os.Remove(r.log))
	r.write("a")
	r.wait("a")
}

func TestIncompleteLineIsLeftUntilItIsComplete(t *testing.T) {
	r := newRig(t)
	whole := line("a")
	for _, cut := range []int{1, 50, len(whole) - 1} {
		r.append(r.log, line(fmt.Sprint("before-", cut))+strings.Replace(whole, `"name":"a"`, fmt.Sprintf(`"name":"a%d"`, cut), 1)[:cut])
		if cut == 1 {
			r.start()
		}
		r.wait(fmt.Sprint("before-", cut))
		r.append(r.log, strings.Replace(whole, `"name":"a"`, fmt.Sprintf(`"name":"a%d"`, cut), 1)[cut:])
		r.wait(fmt.Sprint("a", cut))
	}
	if n := r.metric("reroll_auditlog_events_total", "Malformed"); n != 0 {
		t.Errorf("%v lines were read before they were complete", n)
	}
}

func TestBadLinesAreSkipped(t *testing.T) {
	r := newRig(t)
	r.opts.Limits.LineBytes = 2000
	r.append(r.log, "no JSON\n\n{\"cut\":\n"+line("a")+strings.Repeat("x", 2001)+"\n"+line("b"))
	r.append(r.log, `{"requestObject":"`+strings.Repeat("y", 700_000)+"\"}\n"+line("c")+strings.Repeat("z", 2000)+"\n"+line("d"))
	r.start()
	r.wait("a", "b", "c", "d")
	r.once("a", "b", "c", "d")
	r.eventually("all is counted", func() bool { return r.metric("reroll_auditlog_events_total", "Hint") == 4 })
	if long, bad := r.metric("reroll_auditlog_long_lines_total", ""), r.metric("reroll_auditlog_events_total", "Malformed"); long != 2 || bad != 3 {
		t.Errorf("%v long lines and %v bad ones counted, want 2 and 3", long, bad)
	}
}

func TestRotationWhileReading(t *testing.T) {
	rotate := map[string]func(r *rig, n int){
		"as the API server does": func(r *rig, n int) {
			r.rename(fmt.Sprintf("audit-%s.log", time.Now().UTC().Format(backupTime)))
			r.write(name(n))
		},
		"by number": func(r *rig, n int) {
			_ = os.Rename(filepath.Join(r.dir, "audit.log.1"), filepath.Join(r.dir, "audit.log.2"))
			r.rename("audit.log.1")
			r.write(name(n))
		},
		"copied and truncated": func(r *rig, n int) {
			r.copyTruncate("audit.log.1")
			r.write(name(n))
		},
		"renamed and removed": func(r *rig, n int) {
			r.rename("gone")
			r.must(os.Remove(filepath.Join(r.dir, "gone")))
			r.write(name(n))
		},
	}
	for title, f := range rotate {
		t.Run(title, func(t *testing.T) {
			r := newRig(t)
			r.write("first")
			r.start()
			r.wait("first")
			for n := range 5 {
				f(r, n)
				r.wait(name(n))
			}
			r.once("first", name(0), name(1), name(2), name(3), name(4))
		})
	}
}

// TestWhatHappensWhileDown stops the Tail behind "read", changes files, and starts it again.
func TestWhatHappensWhileDown(t *testing.T) {
	stamp := func(n int) string { return time.Now().UTC().Add(time.Duration(n) * time.Second).Format(backupTime) }
	gzipped := func(r *rig, from, to string) {
		content, err := os.ReadFile(filepath.Join(r.dir, from))
		r.must(err)
		r.must(os.WriteFile(filepath.Join(r.dir, to), compress(content), 0o600))
		r.must(os.Remove(filepath.Join(r.dir, from)))
	}
	older := func(r *rig, path string, by time.Duration) {
		at := time.Now().Add(-by)
		r.must(os.Chtimes(filepath.Join(r.dir, path), at, at))
	}
	cases := map[string]struct {
		change func(r *rig)
		want   []string
		reason string
	}{
		"nothing":  {func(*rig) {}, nil, "nothing is read twice"},
		"appended": {func(r *rig) { r.write("a") }, []string{"a"}, "from where it ended"},
		"renamed": {
			func(r *rig) { r.write("a"); r.rename("audit-" + stamp(0) + ".log"); r.write("b") },
			[]string{"a", "b"},
			"the old one first",
		},
		"renamed often": {
			func(r *rig) {
				for n := range 4 {
					r.write(name(n))
					r.rename("audit-" + stamp(n) + ".log")
				}
				r.write("last")
			},
			[]string{name(0), name(1), name(2), name(3), "last"},
			"all that were rotated since",
		},
		"compressed": {
			func(r *rig) {
				r.write("a")
				r.rename("audit-" + stamp(0) + ".log")
				gzipped(r, filepath.Base(r.glob("audit-*.log")), "audit-"+stamp(1)+".log.gz")
				r.write("b")
			},
			[]string{"a", "b"},
			"what is compressed begins as it did",
		},
		"numbered": {
			func(r *rig) {
				r.write("a")
				r.rename("audit.log.2")
				older(r, "audit.log.2", 2*time.Minute)
				r.write("b")
				r.rename("audit.log.1")
				older(r, "audit.log.1", time.Minute)
				r.write("c")
			},
			[]string{"a", "b", "c"},
			"the time of writing tells",
		},
		"copied and truncated": {
			func(r *rig) { r.write("a"); r.copyTruncate("audit.log.1"); r.write("b") },
			[]string{"a", "b"},
			"the copy begins as the file did",
		},
		"copied, truncated and grown": {
			func(r *rig) {
				r.write("a")
				r.copyTruncate("audit.log.1")
				for n := range 20 {
					r.write(name(n))
				}
			},
			[]string{"a", name(0), name(19)},
			"size proves nothing",
		},
		"renamed without another": {
			func(r *rig) { r.write("a"); r.rename("audit-" + stamp(0) + ".log") }, []string{"a"}, "it is read where it is",
		},
		"removed": {
			func(r *rig) { r.must(os.Remove(r.log)); r.write("b") }, []string{"b"}, "the new one from its beginning",
		},
		"removed but its successors": {
			func(r *rig) {
				r.must(os.Remove(r.log))
				r.write("a")
				r.rename("audit-" + stamp(1) + ".log")
				r.write("b")
			},
			[]string{"a", "b"},
			"they were written since",
		},
		"truncated": {
			func(r *rig) { r.must(os.Truncate(r.log, 0)); r.write("b") }, []string{"b"}, "from its beginning",
		},
		"ended within a line": {
			func(r *rig) {
				r.append(r.log, strings.TrimSuffix(line("a"), "\n"))
				r.rename("audit-" + stamp(0) + ".log")
				r.write("b")
			},
			[]string{"a", "b"},
			"nobody completes it any more",
		},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			r := newRig(t)
			r.append(filepath.Join(r.dir, "audit-2026-01-01T00-00-00.000.log"), line("ancient"))
			r.write("long-ago", "read")
			r.start()
			r.wait("read")
			r.stop()
			c.change(r)
			r.start()
			r.wait(c.want...)
			r.write("end")
			r.wait("end")
			r.once(append(c.want, "long-ago", "read", "end")...)
			if t.Failed() {
				t.Log(c.reason)
			}
			if r.sink.count("ancient") != 0 {
				t.Error("a file that was rotated before the first start was read")
			}
		})
	}
}

func (r *rig) glob(pattern string) string {
	r.t.Helper()
	all, err := filepath.Glob(filepath.Join(r.dir, pattern))
	r.must(err)
	newest := ""
	for _, path := range all {
		newest = max(newest, path)
	}
	return newest
}

func TestTruncationIsCounted(t *testing.T) {
	r := newRig(t)
	r.write("a")
	r.start()
	r.wait("a")
	r.must(os.Truncate(r.log, 0))
	r.eventually("counted", func() bool { return r.metric("reroll_auditlog_truncations_total", "") == 1 })
	r.write("b")
	r.wait("b")
	r.once("a", "b")
}

// TestHoleOfAWriterThatDoesNotAppend: its offset stays where it was before the truncation.
func TestHoleOfAWriterThatDoesNotAppend(t *testing.T) {
	r := newRig(t)
	r.opts.Limits.LineBytes = 2000
	f, err := os.Create(r.log)
	r.must(err)
	defer f.Close()
	for n := range 2000 {
		_, err = f.WriteString(line(name(n)))
		r.must(err)
	}
	r.start()
	r.wait(name(1999))
	r.must(f.Truncate(0))
	_, err = f.WriteString(line("behind-the-hole"))
	r.must(err)
	r.wait("behind-the-hole")
}

func TestSinkThatFails(t *testing.T) {
	r := newRig(t)
	r.sink.fail(errors.New("disk full"))
	r.write("a")
	r.start()
	r.eventually("it is tried again", func() bool { return r.sink.tries() > 3 })
	if err := r.tail.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("healthy: %v", err)
	}
	// The file goes through a rotation meanwhile.
	r.rename("audit.log.1")
	r.write("b")
	r.sink.fail(nil)
	r.wait("a", "b")
	r.once("a", "b")
	r.eventually("healthy again", func() bool { return r.tail.Healthy(t.Context()) == nil })
	if r.metric("reroll_auditlog_put_failures_total", "") < 3 {
		t.Error("failures are not counted")
	}
}

// TestPlaceIsSavedAfterPut stops the Tail while the sink fails: the next one starts with what was not stored.
func TestPlaceIsSavedAfterPut(t *testing.T) {
	r := newRig(t)
	r.write("a")
	r.start()
	r.wait("a")
	r.sink.fail(errors.New("down"))
	r.write("b")
	r.eventually("it is tried", func() bool { return r.sink.tries() > 1 })
	r.stop()
	r.sink.fail(nil)
	r.start()
	r.wait("b")
	r.once("a", "b")
}

func TestSinkThatHangs(t *testing.T) {
	r := newRig(t)
	r.opts.Limits.PutTimeout = 5 * time.Millisecond
	stored := r.sink
	var hung sync.Once
	r.opts.Sink = ingest.SinkFunc(func(ctx context.Context, hints []reloader.Hint) error {
		first := false
		hung.Do(func() { first = true })
		if first {
			<-ctx.Done()
			return ctx.Err()
		}
		return stored.Put(ctx, hints)
	})
	r.write("a")
	r.start()
	r.wait("a")
}

func TestPlaceThatCannotBeUsed(t *testing.T) {
	for title, content := range map[string]string{"empty": "", "no JSON": "x", "from the future": `{"v":2}`, "negative": `{"v":1,"offset":-1}`} {
		t.Run(title, func(t *testing.T) {
			r := newRig(t)
			var log bytes.Buffer
			r.opts.Logger = logTo(&log)
			r.must(os.WriteFile(r.opts.StatePath, []byte(content), 0o600))
			r.write("a")
			r.start()
			r.wait("a")
			r.stop()
			if !strings.Contains(log.String(), "place in the audit log is unknown") {
				t.Error("nobody was told")
			}
		})
	}
}

func TestPlaceThatCannotBeSaved(t *testing.T) {
	r := newRig(t)
	r.opts.StatePath = filepath.Join(r.dir, "no", "such", "folder")
	r.write("a")
	r.start()
	r.wait("a")
	r.eventually("unhealthy", func() bool {
		err := r.tail.Healthy(t.Context())
		return err != nil && strings.Contains(err.Error(), "save the place")
	})
	r.write("b")
	r.wait("b")
	r.once("a", "b")
}
