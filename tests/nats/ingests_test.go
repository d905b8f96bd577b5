package nats

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

const (
	// posts are how many lists of events are sent, with perPost events about Secrets of different names in each, by senders at a time.
	posts, perPost, senders = 200, 5, 4
)

// TestSeveralIngestsBehindOneAddress kills one of two while events come: who sends again what was not accepted, as API servers do, has every
// event accepted, and of every one there is a hint.
func TestSeveralIngestsBehindOneAddress(t *testing.T) {
	s := documented(t, "server.conf")
	ctx, cancel := context.WithTimeout(t.Context(), lineTime)
	defer cancel()
	setUpAs(ctx, t, s, user{queue.RoleAdmin, line.ClusterName}, queue.Layout{Clusters: []string{line.ClusterName}})
	flags, client := auditCertificates(t)
	flags = append(append(flags, "--nats-url", s.ClientURL(), "--nats-bind-only"), loginFlags(t, queue.RoleIngest, line.ClusterName)...)
	b := newBalancer(t)
	var ingests []*exec.Cmd
	for range 2 {
		ingests = append(ingests, b.startIngest(ctx, t, flags))
	}

	var sent atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	for sender := range senders {
		g.Go(func() error {
			for n := sender; n < posts; n += senders {
				if err := postUntilAccepted(gctx, client, "https://"+b.address, n); err != nil {
					return err
				}
				if sent.Add(1) != posts/2 {
					continue
				}
				if err := ingests[0].Process.Kill(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if reached := b.counts(); reached[0] < posts/8 || reached[1] < posts/8 {
		t.Errorf("%v connections went to the two", reached)
	}
	nc, _ := connect(t, s, user{queue.RoleAdmin, line.ClusterName})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "HINTS")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter("reroll.hint.>"))
	if err != nil || len(info.State.Subjects) != posts*perPost {
		t.Errorf("there are hints about %d Secrets, want %d: %v", len(info.State.Subjects), posts*perPost, err)
	}
}

// auditCertificates returns the flags of an ingest, and a client of the cluster that makes a connection for each post.
func auditCertificates(t *testing.T) ([]string, *http.Client) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	ca, err := kube.NewCA("audit")
	check(err)
	serving, err := ca.Server("reroll", "127.0.0.1")
	check(err)
	own, err := ca.Client(line.ClusterName + ".audit.reroll.dev")
	check(err)
	pair, err := tls.X509KeyPair(own.CertPEM, own.KeyPEM)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		check(os.WriteFile(file, content, 0o600))
		return file
	}
	return []string{
		"--ingest-tls-cert", write("server.crt", serving.CertPEM), "--ingest-tls-key", write("server.key", serving.KeyPEM),
		"--ingest-tls-client-ca", write("ca.crt", ca.CertPEM()),
	}, &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	}}
}

func postUntilAccepted(ctx context.Context, client *http.Client, url string, n int) error {
	var body bytes.Buffer
	body.WriteString(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[`)
	for i := range perPost {
		if i > 0 {
			body.WriteByte(',')
		}
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
		fmt.Fprintf(&body, `{"level":"Metadata","auditID":"a-%d-%d","stage":"ResponseComplete","verb":"update","user":{"username":"alice"},`+
			`"objectRef":{"resource":"secrets","namespace":"shop","name":"secret-%d-%d","apiVersion":"v1"},"responseStatus":{"code":200},`+
			`"requestReceivedTimestamp":%q,"stageTimestamp":%q}`, n, i, n, i, now, now)
	}
	body.WriteString("]}")
	return line.Poll(ctx, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/audit/"+line.ClusterName, bytes.NewReader(body.Bytes()))
		if err != nil {
			return line.Stop(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("answered with %s", response.Status)
		}
		return nil
	})
}

// balancer is one address for several processes. It hands each connection to the next of them that is there.
type balancer struct {
	address string

	mu      sync.Mutex
	behind  []string
	reached []int
	next    int
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	b := &balancer{address: listener.Addr().String()}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go b.carry(in)
		}
	}()
	return b
}

// startIngest starts one process more behind the address, and returns when it is ready. It is ended with the test.
func (b *balancer) startIngest(ctx context.Context, t *testing.T, flags []string) *exec.Cmd {
	t.Helper()
	binary, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := port.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, append([]string{"ingest", "--ingest-address", addresses[0], "--metrics-address", addresses[1]}, flags...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	ops := &line.Reroll{Ops: "http://" + addresses[1]}
	err = line.Poll(ctx, func(ctx context.Context) error {
		code, answer, err := ops.Probe(ctx, "/readyz?verbose")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("not ready: %s", answer)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.behind, b.reached = append(b.behind, addresses[0]), append(b.reached, 0)
	return cmd
}

func (b *balancer) counts() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]int(nil), b.reached...)
}

func (b *balancer) dial() net.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.behind {
		b.next = (b.next + 1) % len(b.behind)
		if out, err := net.Dial("tcp", b.behind[b.next]); err == nil {
			b.reached[b.next]++
			return out
		}
	}
	return nil
}

func (b *balancer) carry(in net.Conn) {
	defer in.Close() //nolint:errcheck // it is over either way
	out := b.dial()
	if out == nil {
		return
	}
	defer out.Close() //nolint:errcheck // it is over either way
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(in, out)
}
