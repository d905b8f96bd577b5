package line

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/poll"
)

// Build builds the reroll binary from the sources around the working directory and returns its path. The Go build cache makes
// this quick after the first time.
var Build = func() func(context.Context) (string, error) {
	var once sync.Once
	var path string
	var err error
	return func(ctx context.Context) (string, error) {
		once.Do(func() { path, err = build(ctx) })
		return path, err
	}
}()

func build(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	module, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	// Tests of two copies of the sources may run at once.
	target := filepath.Join(cache, "reroll", "bin", fmt.Sprintf("reroll-%d-%08x", os.Getuid(), crc32.ChecksumIEEE(module)))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", target, "github.com/reroll-dev/reroll/cmd/reroll")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build reroll: %w: %s", err, output)
	}
	return target, nil
}

// Reroll is one reroll process after another, all with the same settings and data.
type Reroll struct {
	// API and Ops are the URLs of the REST API and of the address for metrics and health.
	API, Ops string

	binary, dir, ingest    string
	arguments, environment []string

	mu      sync.Mutex
	log     bytes.Buffer
	process *exec.Cmd
	done    chan struct{}
}

// Write takes a part of the process's output.
func (r *Reroll) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

// Log returns what all processes have logged so far.
func (r *Reroll) Log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// PID returns the process's ID; 0 if none runs.
func (r *Reroll) PID() int {
	if r.process == nil {
		return 0
	}
	return r.process.Process.Pid
}

// Start starts a process. extra flags win over those of the line.
func (r *Reroll) Start(extra ...string) error {
	cmd := exec.Command(r.binary, append(append([]string{}, r.arguments...), extra...)...)
	cmd.Stdout, cmd.Stderr = r, r
	cmd.Env = append(os.Environ(), r.environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start reroll: %w", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	r.process, r.done = cmd, done
	return nil
}

// SetEnvironment sets what the processes that are started from now on have in their environment besides that of the caller.
func (r *Reroll) SetEnvironment(environment []string) { r.environment = environment }

// Kill ends the process as a crash would.
func (r *Reroll) Kill() {
	if r.process == nil {
		return
	}
	_ = r.process.Process.Kill()
	<-r.done
	r.process = nil
}

// Terminate asks the process to end and waits for it. An exit code other than 0 is an error.
func (r *Reroll) Terminate(ctx context.Context) error {
	if r.process == nil {
		return nil
	}
	if err := r.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return fmt.Errorf("reroll did not end: %w; its log ends with:\n%s", ctx.Err(), r.Tail())
	}
	code := r.process.ProcessState.ExitCode()
	r.process = nil
	if code != 0 {
		return fmt.Errorf("reroll ended with code %d; its log ends with:\n%s", code, r.Tail())
	}
	return nil
}

const tailLines = 40

// Tail returns the end of the log.
func (r *Reroll) Tail() string {
	lines := strings.Split(strings.TrimSpace(r.Log()), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// WaitReady waits until the process says that it is ready.
func (r *Reroll) WaitReady(ctx context.Context) error {
	return Poll(ctx, func(ctx context.Context) error {
		select {
		case <-r.done:
			return Stop(fmt.Errorf("reroll ended early; its log ends with:\n%s", r.Tail()))
		default:
		}
		_, err := get(ctx, r.Ops+"/readyz?verbose")
		return err
	})
}

// Get reads a path of the REST API into answer; nil drops it.
func (r *Reroll) Get(ctx context.Context, path string, answer any) error {
	body, err := get(ctx, r.API+path)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(body, answer)
}

// Post sends a question to a path of the REST API, and reads the answer.
func (r *Reroll) Post(ctx context.Context, path string, question, answer any) error {
	asks, err := json.Marshal(question)
	if err != nil {
		return err
	}
	body, err := send(ctx, http.MethodPost, r.API+path, asks)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, answer)
}

// Metrics returns the text of /metrics.
func (r *Reroll) Metrics(ctx context.Context) (string, error) {
	body, err := get(ctx, r.Ops+"/metrics")
	return string(body), err
}

// Metric returns the sum of the samples of a metric that have all the labels, each given as `name="value"`; 0 if there are none.
func (r *Reroll) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	text, err := r.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	return kube.SumSamples(text, name, labels)
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

func get(ctx context.Context, url string) ([]byte, error) { return send(ctx, http.MethodGet, url, nil) }

// send returns the answer to a request. If the server asks to retry later, it waits.
func send(ctx context.Context, method, url string, question []byte) ([]byte, error) {
	for {
		body, wait, err := sendOnce(ctx, method, url, question)
		if wait == 0 {
			return body, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// callers ask in turn, each from a loopback address of its own: tests that run side by side ask more often than one client may.
var (
	callers = newCallers(16)
	asked   atomic.Uint64
)

func newCallers(n int) []*http.Client {
	clients := make([]*http.Client, n)
	for i := range clients {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i))}}
		clients[i] = &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	}
	return clients
}

// getOnce reads a URL, or says with an error how long to wait.
func sendOnce(ctx context.Context, method, url string, question []byte) (body []byte, wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(question))
	if err != nil {
		return nil, 0, err
	}
	if question != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := callers[asked.Add(1)%uint64(len(callers))].Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return nil, 0, err
	}
	if response.StatusCode == http.StatusOK {
		return body, 0, nil
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && response.StatusCode == http.StatusTooManyRequests {
		wait = max(1, time.Duration(seconds)) * time.Second
	}
	return body, wait, fmt.Errorf("%s %s: %s: %s", method, url, response.Status, body)
}

// Stop marks an error that will not go away, so that Poll gives up.
func Stop(err error) error { return poll.Stop(err) }

// Poll calls check until it returns nil; see poll.Until.
func Poll(ctx context.Context, check func(context.Context) error) error {
	return poll.Until(ctx, check)
}

// Must ends the test if err is one.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually fails the test unless check returns nil in time; see Poll. what says what is waited for.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	if err := Poll(t.Context(), check); err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}
