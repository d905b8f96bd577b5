package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/nats/servers"
)

// features are what Reroll finds out about each version of tests/nats/servers.
var features = map[string]string{
	"2.10.29": "api_level=0 atomic_batches=false message_ttl=false",
	"2.11.10": "api_level=1 atomic_batches=false message_ttl=true",
	"2.12.15": "api_level=3 atomic_batches=true message_ttl=true",
}

// process is a NATS server as a process of its own.
type process struct {
	binary, config string
	cmd            *exec.Cmd
	url            string
}

// startProcess starts a server with files and a port of its own.
func startProcess(ctx context.Context, t *testing.T, binary string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{binary: binary, config: filepath.Join(dir, "server.conf")}
	text := fmt.Sprintf("listen: 127.0.0.1:-1\nports_file_dir: %q\njetstream: {store_dir: %q, sync_interval: always, max_file_store: 4GB}\n", dir, dir)
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.start(ctx, t)
	t.Cleanup(func() { p.kill() })
	return p
}

// start starts the server, on the same port as before if there was one.
func (p *process) start(ctx context.Context, t *testing.T) {
	t.Helper()
	args := []string{"--config", p.config}
	if _, port, ok := strings.Cut(strings.TrimPrefix(p.url, "nats://"), ":"); ok {
		args = append(args, "--port", port)
	}
	p.cmd = exec.Command(p.binary, args...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(p.config), fmt.Sprintf("%s_%d.ports", filepath.Base(p.binary), p.cmd.Process.Pid))
	err := line.Poll(ctx, func(context.Context) error {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var ports struct {
			NATS []string `json:"nats"`
		}
		if err := json.Unmarshal(data, &ports); err != nil {
			return err
		}
		p.url = ports.NATS[0]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// TestOldServers does everything that Reroll does with NATS, on servers of each supported version.
func TestOldServers(t *testing.T) {
	versions, err := servers.Versions()
	if err != nil || len(versions) != len(features) {
		t.Fatalf("versions %q: %v", versions, err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			binary, err := servers.Path(ctx, version)
			if err != nil {
				t.Fatal(err)
			}
			p := startProcess(ctx, t, binary)
			if got := contract(ctx, t, p); !strings.Contains(got, "version="+version+" "+features[version]) {
				t.Errorf("it is not seen as what it is:\n%s", got)
			}
		})
	}
}

// contract uses a server, kills it and uses it again. It returns the log.
func contract(ctx context.Context, t *testing.T, p *process) string {
	t.Helper()
	layout, quiet := queue.Layout{Clusters: []string{"c1"}}, slog.New(slog.DiscardHandler)
	if _, err := queue.Setup(ctx, queue.Options{URL: p.url, Logger: quiet}, layout, false); err != nil {
		t.Fatal(err)
	}
	steps, err := queue.Setup(ctx, queue.Options{URL: p.url, Logger: quiet}, layout, false)
	for _, step := range steps {
		if err != nil || step.Action != "left as it is" {
			t.Errorf("the second time, %s: %s, %v", step.Object, step.Action, err)
		}
	}
	var log safeBuffer
	q := open(ctx, t, queue.Options{URL: p.url, BindOnly: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	seen := consume(ctx, t, q)
	if err := errors.Join(store(ctx, q, "c1"), q.Put(ctx, hints("c1", 100))); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, func() error { return seen.lacks(100) })
	checkRecords(ctx, t, q)

	p.kill()
	p.start(ctx, t)
	poll(ctx, t, func() error { return q.Healthy(ctx) })
	checkRecords(ctx, t, q)
	poll(ctx, t, func() error { return q.Put(ctx, []reloader.Hint{hint("c1", "after")}) })
	poll(ctx, t, func() error { return seen.lacks(101) })
	if err := q.DeleteWorkload(ctx, "c1", web); err != nil {
		t.Error(err)
	}
	if records, err := q.LoadWorkloads(ctx, "c1"); err != nil || len(records) != 0 {
		t.Errorf("%d records after the last was deleted: %v", len(records), err)
	}
	return log.String()
}

// checkRecords reads back what store has stored.
func checkRecords(ctx context.Context, t *testing.T, q *queue.Queue) {
	t.Helper()
	changes, err := q.LoadChanges(ctx, "c1")
	if err != nil || changes[app].Change.New.Sum != "one" {
		t.Errorf("changes %v: %v", changes, err)
	}
	if _, err := q.AppendChange(ctx, change("c1", "two"), 99); !errors.Is(err, reloader.ErrOutrun) {
		t.Errorf("a change after one that is not there: %v", err)
	}
	if got, found, err := q.LatestChange(ctx, "c1", app); err != nil || !found || got.Change.New.Sum != "one" {
		t.Errorf("latest change %v: %v", got, err)
	}
	if r, found, err := q.LastReload(ctx, "c1", web); err != nil || !found || r.ID != "r-1" {
		t.Errorf("last reload %v: %v", r, err)
	}
	if records, err := q.LoadWorkloads(ctx, "c1"); err != nil || len(records) != 1 {
		t.Errorf("%d records: %v", len(records), err)
	}
	if err := q.BindCluster(ctx, "c1", "another"); !errors.Is(err, queue.ErrOtherCluster) {
		t.Errorf("another cluster of that name: %v", err)
	}
	if h, found, err := q.LastHint(ctx, "c1", hint("c1", "config-7").Config); err != nil || !found || h.Config.Name != "config-7" {
		t.Errorf("last hint %v: %v", h, err)
	}
}

// names are the configs that hints have come about.
type names struct {
	mu  sync.Mutex
	set map[string]bool
}

func (n *names) lacks(want int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.set) != want {
		return fmt.Errorf("hints about %d configs, not %d", len(n.set), want)
	}
	return nil
}

// consume consumes and acknowledges hints of cluster c1 until the test ends.
func consume(ctx context.Context, t *testing.T, q *queue.Queue) *names {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	n, done := &names{set: map[string]bool{}}, make(chan error, 1)
	go func() {
		done <- q.ConsumeHints(ctx, "c1", func(d queue.Delivery) {
			d.Ack()
			n.mu.Lock()
			defer n.mu.Unlock()
			n.set[d.Hint().Config.Name] = true
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("consuming ended: %v", err)
		}
	})
	return n
}

func poll(ctx context.Context, t *testing.T, check func() error) {
	t.Helper()
	if err := line.Poll(ctx, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}

// safeBuffer is a log that several goroutines write.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to the log.
func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the log so far.
func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestThisVersionIsNotTested keeps the matrix from testing what every other test does.
func TestThisVersionIsNotTested(t *testing.T) {
	if _, old := features[server.VERSION]; old {
		t.Errorf("version %s is the one in go.mod: the matrix needs older ones", server.VERSION)
	}
}
