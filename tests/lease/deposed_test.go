package lease

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// fleet is how many workloads one change rolls, and early how many of them before the leader is paused.
	fleet, early = 500, 30
	// pauseTime is for how long it is, and deposedTime bounds everything that is waited for.
	pauseTime   = 30 * time.Second
	deposedTime = 5 * time.Minute
)

// A leader that is paused in the middle of a fan-out, for longer than its lease lasts, writes nothing after its successor's first write.
func TestPausedLeaderWritesNothingLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old, successor := s.pauseInFanOut(t)
	s.await(t, "the successor rolls", func() bool { return len(successor.writes("PATCH")) > 0 })
	s.resume(t, old)
	s.await(t, "the successor ends the fan-out", func() bool { return s.rolled(t) == fleet })
	first := successor.writes("PATCH")[0].at
	if late := old.writesAfter(first); len(late) != 0 {
		t.Errorf("the old leader wrote %d times after its successor's first write, as in %s", len(late), late[0].what)
	}
	s.checkOnce(t)
}

// What is frozen while the leader is paused is rolled by neither.
func TestPausedLeaderKeepsToAFreeze(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old, successor := s.pauseInFanOut(t)
	frozen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: control.ConfigMap}, Data: map[string]string{control.Key: "freeze: {}"}}
	if _, err := cluster.Client().CoreV1().ConfigMaps(s.namespace).Create(t.Context(), frozen, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the successor is ready", func() bool { return strings.Contains(successor.log.String(), "msg=ready") })
	resumed := time.Now()
	s.resume(t, old)
	if late := old.writesAfter(resumed); len(late) != 0 {
		t.Errorf("the old leader wrote %d times after the freeze, as in %s", len(late), late[0].what)
	}
	if rolls := successor.writes("PATCH"); len(rolls) != 0 {
		t.Errorf("the successor rolled %d workloads in spite of the freeze, as by %s", len(rolls), rolls[0].what)
	}
	s.checkOnce(t)
}

// site is a namespace with two replicas that meet at a NATS of their own.
type site struct {
	namespace, nats, binary string
}

func newSite(t *testing.T) *site {
	t.Helper()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 4 << 30})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(startTime) {
		t.Fatal("NATS did not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), deposedTime)
	defer cancel()
	binary, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &site{namespace: cluster.Namespace(t), nats: n.ClientURL(), binary: binary}
}

// pauseInFanOut edits a config on which the whole fleet depends, and pauses the leader when it has rolled a part of it.
func (s *site) pauseInFanOut(t *testing.T) (old, successor *replica) {
	t.Helper()
	configs := cluster.Client().CoreV1().ConfigMaps(s.namespace)
	app := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"k": "1"}}
	if _, err := configs.Create(t.Context(), app, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for n := range fleet {
		if _, err := cluster.Client().AppsV1().Deployments(s.namespace).Create(t.Context(), dependent(n), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	old = s.replica(t, "a")
	s.await(t, "the first replica is ready", func() bool { return strings.Contains(old.log.String(), "msg=ready") })
	s.await(t, "the first replica watches", func() bool { return strings.Contains(old.log.String(), "watching configs") })
	successor = s.replica(t, "b")
	app.Data["k"] = "2"
	if _, err := configs.Update(t.Context(), app, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the leader rolls", func() bool { return len(old.writes("PATCH")) >= early })
	old.signal(t, syscall.SIGSTOP)
	old.paused = time.Now()
	if n := len(old.writes("PATCH")); n >= fleet {
		t.Fatalf("all %d workloads were rolled before the pause", n)
	}
	return old, successor
}

// resume lets a paused replica go on when its time has come, and waits until it has ended because it leads no more.
func (s *site) resume(t *testing.T, r *replica) {
	t.Helper()
	<-time.After(time.Until(r.paused.Add(pauseTime)))
	r.signal(t, syscall.SIGCONT)
	select {
	case <-r.ended:
	case <-time.After(deposedTime):
		t.Fatalf("the old leader does not end:\n%s", r.log.String())
	}
}

// rolled returns how many workloads have another template.
func (s *site) rolled(t *testing.T) (n int) {
	t.Helper()
	for _, d := range s.workloads(t) {
		if d.Generation > 1 {
			n++
		}
	}
	return n
}

// checkOnce fails the test if a template has changed twice.
func (s *site) checkOnce(t *testing.T) {
	t.Helper()
	for _, d := range s.workloads(t) {
		if d.Generation > 2 {
			t.Errorf("the template of %s changed %d times", d.Name, d.Generation-1)
		}
	}
}

func (s *site) workloads(t *testing.T) []appsv1.Deployment {
	t.Helper()
	all, err := cluster.Client().AppsV1().Deployments(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil && !apierrors.IsTooManyRequests(err) {
		t.Fatal(err)
	}
	return all.Items
}

func (s *site) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deposedTime)
	defer cancel()
	err := line.Poll(ctx, func(context.Context) error {
		if !is() {
			return fmt.Errorf("not so yet: %s", what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func dependent(n int) *appsv1.Deployment {
	return line.Deployment("", fmt.Sprintf("web-%03d", n), map[string]string{"reroll.dev/auto": "true"}, line.FromConfigMap("app"))
}

// replica is a process whose requests are all seen on their way to the API server.
type replica struct {
	process *os.Process
	ended   chan struct{}
	log     *lockedBuffer
	paused  time.Time

	mu   sync.Mutex
	seen []write
}

// write is a request that changes something.
type write struct {
	verb, what string
	at         time.Time
}

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// replica starts a replica that rolls some twenty workloads in a second.
func (s *site) replica(t *testing.T, name string) *replica {
	t.Helper()
	r := &replica{ended: make(chan struct{}), log: &lockedBuffer{}}
	front := r.front(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}`, front)
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(s.binary, "dispatch", "--enable-ha", "--cluster-name", "local", "--nats-url", s.nats, "--kubeconfig", kubeconfig,
		"--namespaces", s.namespace, "--source", "watch", "--metrics-address", "127.0.0.1:0", "--coalesce-window", "200ms", "--kube-qps", "20", "--kube-burst", "20")
	command.Env = append(os.Environ(), "POD_NAME="+name, "POD_NAMESPACE="+s.namespace)
	command.Stdout, command.Stderr = r.log, r.log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	r.process = command.Process
	go func() { defer close(r.ended); _ = command.Wait() }()
	t.Cleanup(func() {
		_ = r.process.Kill()
		<-r.ended
		if t.Failed() {
			t.Logf("the log of %s:\n%s", name, r.log.String())
		}
	})
	return r
}

// front returns the address at which the API server can be reached, and takes note of what is written there, but for the Lease.
func (r *replica) front(t *testing.T) string {
	t.Helper()
	transport, err := rest.TransportFor(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(cluster.RESTConfig().Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodGet && !strings.Contains(q.URL.Path, "/leases") {
			r.mu.Lock()
			r.seen = append(r.seen, write{q.Method, q.Method + " " + q.URL.Path, time.Now()})
			r.mu.Unlock()
		}
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(front.CloseClientConnections)
	return front.URL
}

// writes returns what was written on workloads by requests of one method.
func (r *replica) writes(method string) (found []write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.seen {
		if w.verb == method && strings.Contains(w.what, "/deployments/") {
			found = append(found, w)
		}
	}
	return found
}

func (r *replica) writesAfter(t time.Time) (found []write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.seen {
		if w.at.After(t) {
			found = append(found, w)
		}
	}
	// An Event about what was done before may have been about to be sent when the process was stopped. They are sent one after another.
	if len(found) == 1 && strings.HasSuffix(found[0].what, "/events") {
		return nil
	}
	return found
}

func (r *replica) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
