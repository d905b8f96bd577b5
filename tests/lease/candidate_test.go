package lease

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// candidateVariable is set in a process that stands for a Lease, to what identifies the candidate.
const candidateVariable = "REROLL_TEST_CANDIDATE"

// identity is what a candidate's process is told.
type identity struct{ Kubeconfig, Lease, Name string }

// beatInterval is how often a leader says that it works.
const beatInterval = 20 * time.Millisecond

// sign is one line that a candidate prints.
type sign struct {
	// What is "ready" once it can stand, and "begin", "beat" or "end" when it leads.
	What string
	At   time.Time
	// Lost says at an end that the Lease could not be renewed.
	Lost bool
}

// stand is the whole program of a candidate: it works when it leads, until it is asked to end.
func stand(given string) int {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	var me identity
	err := json.Unmarshal([]byte(given), &me)
	if err == nil {
		err = lead(ctx, me)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, me.Name, err)
		return 1
	}
	return 0
}

func lead(ctx context.Context, me identity) error {
	c, err := kube.Connect(ctx, kube.Options{Kubeconfig: me.Kubeconfig, QPS: 10, Burst: 10})
	if err != nil {
		return err
	}
	say(sign{What: "ready"})
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return c.Lead(ctx, kube.LeaseOptions{Namespace: "default", Name: me.Lease, Identity: me.Name, Logger: logger}, work)
}

func say(s sign) {
	s.At = time.Now()
	_ = json.NewEncoder(os.Stdout).Encode(s)
}

// work prints signs until ctx ends.
func work(ctx, _ context.Context) error {
	say(sign{What: "begin"})
	tick := time.NewTicker(beatInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			say(sign{What: "beat"})
		case <-ctx.Done():
			say(sign{What: "end", Lost: errors.Is(context.Cause(ctx), kube.ErrLeadershipLost)})
			return ctx.Err()
		}
	}
}

// candidate is a process that stands for a Lease.
type candidate struct {
	t       *testing.T
	name    string
	process *os.Process
	// exited is closed when the process has ended and all of its signs are taken.
	exited chan struct{}

	mu    sync.Mutex
	signs []sign
	fresh chan struct{}
}

// start starts a candidate, which is killed when the test ends.
func start(t *testing.T, lease, name string) *candidate {
	t.Helper()
	me, err := json.Marshal(identity{cluster.Kubeconfig(), lease, name})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), candidateVariable+"="+string(me))
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c := &candidate{t: t, name: name, process: command.Process, exited: make(chan struct{}), fresh: make(chan struct{}, 1)}
	go func() {
		defer close(c.exited)
		c.take(out)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		c.signal(syscall.SIGKILL)
		<-c.exited
	})
	return c
}

func (c *candidate) take(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s sign
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			continue
		}
		c.mu.Lock()
		c.signs = append(c.signs, s)
		c.mu.Unlock()
		select {
		case c.fresh <- struct{}{}:
		default:
		}
	}
}

// signal sends a signal and returns when that was.
func (c *candidate) signal(s os.Signal) time.Time {
	now := time.Now()
	if err := c.process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Errorf("%s: %v", c.name, err)
	}
	return now
}

// await returns the first sign of a kind at or after a time.
func (c *candidate) await(what string, since time.Time, atMost time.Duration) sign {
	c.t.Helper()
	limit := time.After(time.Until(since.Add(atMost)))
	for {
		c.mu.Lock()
		for _, s := range c.signs {
			if s.What == what && !s.At.Before(since) {
				c.mu.Unlock()
				return s
			}
		}
		c.mu.Unlock()
		select {
		case <-c.fresh:
		case <-limit:
			c.t.Fatalf("%s: no %s in %s", c.name, what, atMost)
		}
	}
}

// count returns how many signs of a kind there are after a time.
func (c *candidate) count(what string, since time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.signs {
		if s.What == what && s.At.After(since) {
			n++
		}
	}
	return n
}

// interval is a time in which somebody worked.
type interval struct {
	who        string
	begin, end time.Time
}

// intervals returns when c worked. A process that was killed or paused worked until its last sign before a silence.
func (c *candidate) intervals() []interval {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []interval
	for _, s := range c.signs {
		if s.What == "ready" {
			continue
		}
		last := len(found) - 1
		if s.What == "begin" || s.At.Sub(found[last].end) > 5*time.Second {
			found = append(found, interval{c.name, s.At, s.At})
			continue
		}
		found[last].end = s.At
	}
	return found
}

// checkAlone fails the test if two candidates worked at once.
func checkAlone(t *testing.T, a, b *candidate) {
	t.Helper()
	for _, x := range a.intervals() {
		for _, y := range b.intervals() {
			if x.begin.Before(y.end) && y.begin.Before(x.end) {
				t.Errorf("both worked at once: %+v and %+v", x, y)
			}
		}
	}
}
