package auditlog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

// childLog makes this program a Tail of the log at that path, which prints what it stores.
const childLog = "REROLL_TEST_AUDITLOG"

// runChild runs a Tail until it is killed.
func runChild(path string) int {
	out := bufio.NewWriter(os.Stdout)
	tail, err := New(Options{
		Path: path, StatePath: path + ".place", Cluster: "prod",
		Limits: Limits{Poll: time.Millisecond, BatchLines: 50},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Sink: ingest.SinkFunc(func(_ context.Context, hints []reloader.Hint) error {
			for _, h := range hints {
				fmt.Fprintln(out, h.Config.Name)
			}
			return out.Flush()
		}),
	})
	if err == nil {
		err = tail.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestNothingIsLost writes lines, in pieces, while the file is rotated in every way, and the Tail is killed again and again.
func TestNothingIsLost(t *testing.T) {
	const lines = 6000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &writer{t: t, path: filepath.Join(t.TempDir(), "audit.log"), random: rand.New(rand.NewPCG(seed, 0))}
	stored := &seen{counts: map[string]int{}}
	stop, kills := make(chan struct{}), make(chan int)
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	var told strings.Builder
	go func() { kills <- killAgainAndAgain(t, w.path, stored, &told, stop) }()
	// What was rotated before the first start is nobody's promise.
	first := stored.more()
	w.write(name(0))
	<-first
	for n := range lines {
		w.line(name(n), stored)
	}
	last := time.After(waitTime)
	for late := false; len(stored.missing(lines)) > 0 && !late; {
		select {
		case <-stored.more():
		case <-last:
			late = true
		}
	}
	end()
	n := <-kills
	if missing := stored.missing(lines); len(missing) > 0 {
		t.Fatalf("%d of %d lines are lost: %v\n%s", len(missing), lines, missing, &told)
	}
	t.Logf("%d kills, %d rotations, %d compressed, %d truncations, %d hints for %d lines",
		n, w.renamed, w.compressed, w.truncated, stored.total(), lines)
	if n < 10 || w.renamed < 10 || w.truncated < 3 || w.compressed < 3 {
		t.Error("too little happened to prove anything")
	}
}

// killAgainAndAgain runs a Tail in a process of its own until stop is closed, kills it after a while, and runs the next. Only what
// was printed counts as stored.
func killAgainAndAgain(t *testing.T, path string, stored *seen, told io.Writer, stop chan struct{}) (kills int) {
	for {
		child := exec.Command(os.Args[0])
		child.Env, child.Stderr = append(os.Environ(), childLog+"="+path), told
		out, err := child.StdoutPipe()
		if err != nil {
			t.Error(err)
			return kills
		}
		if err := child.Start(); err != nil {
			t.Error(err)
			return kills
		}
		end := make(chan struct{})
		go func() {
			select {
			case <-stop:
			case <-stored.after(200 + 37*kills%400):
			}
			_ = child.Process.Kill()
			close(end)
		}()
		for names := bufio.NewScanner(out); names.Scan(); {
			stored.add(names.Text())
		}
		<-end
		_ = child.Wait() // it was killed
		select {
		case <-stop:
			return kills
		default:
			kills++
		}
	}
}

// seen counts what was stored.
type seen struct {
	mu      sync.Mutex
	counts  map[string]int
	all     int
	waiting []waiter
}

type waiter struct {
	at   int
	done chan struct{}
}

func (s *seen) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[name]++
	s.all++
	var rest []waiter
	for _, w := range s.waiting {
		if w.at > s.all {
			rest = append(rest, w)
			continue
		}
		close(w.done)
	}
	s.waiting = rest
}

// after returns a channel that is closed when n more were stored.
func (s *seen) after(n int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := waiter{at: s.all + n, done: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	return w.done
}

func (s *seen) more() <-chan struct{} { return s.after(1) }

func (s *seen) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

func (s *seen) missing(lines int) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range lines {
		if s.counts[name(i)] == 0 {
			names = append(names, name(i))
		}
	}
	return names
}

// writer writes a log and rotates it. It keeps every rotated file, since nothing can be promised about files that are gone.
type writer struct {
	t                              *testing.T
	path                           string
	random                         *rand.Rand
	f                              *os.File
	at                             time.Time
	renamed, truncated, compressed int
}

// line writes a line, and now and then lets the Tail catch up or rotates.
func (w *writer) line(name string, stored *seen) {
	w.t.Helper()
	w.write(name)
	switch w.random.IntN(60) {
	case 0:
		w.rename(false)
	case 1:
		w.rename(true)
	case 2:
		w.truncate()
	case 3, 4, 5:
		select {
		case <-stored.more():
		case <-time.After(time.Second): // the Tail is being started, or has everything
		}
	}
}

// write writes a line in two pieces.
func (w *writer) write(name string) {
	w.t.Helper()
	if w.f == nil {
		f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		w.must(err)
		w.f = f
	}
	text := line(name)
	cut := w.random.IntN(len(text))
	for _, part := range []string{text[:cut], text[cut:]} {
		_, err := w.f.WriteString(part)
		w.must(err)
	}
}

// rename rotates as the API server does.
func (w *writer) rename(compressed bool) {
	w.must(w.f.Close())
	w.f = nil
	to := w.backup()
	w.must(os.Rename(w.path, to))
	w.renamed++
	if !compressed {
		return
	}
	content, err := os.ReadFile(to)
	w.must(err)
	w.must(os.WriteFile(to+gzipSuffix, compress(content), 0o600))
	w.must(os.Remove(to))
	w.compressed++
}

// truncate rotates as logrotate does with copytruncate; nothing is written between the two.
func (w *writer) truncate() {
	content, err := os.ReadFile(w.path)
	w.must(err)
	w.must(os.WriteFile(w.backup(), content, 0o600))
	w.must(w.f.Truncate(0))
	w.truncated++
}

// backup returns the next name of a rotated file. No two have the same time.
func (w *writer) backup() string {
	now := time.Now().UTC().Truncate(time.Millisecond)
	if !now.After(w.at) {
		now = w.at.Add(time.Millisecond)
	}
	w.at = now
	return strings.TrimSuffix(w.path, ".log") + "-" + now.Format(backupTime) + ".log"
}

func (w *writer) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
