//go:build nightly

package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

var errNotYet = errors.New("not yet")

// delivery is an event as it arrived, and who brought it.
type delivery struct {
	event  auditv1.Event
	client string
}

// receiver takes audit events over mTLS.
type receiver struct {
	server *httptest.Server
	ca     *CA
	got    chan delivery
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	ca, err := NewCA("receiver")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Server("receiver", "receiver.example")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.CertPEM())
	// Nobody reads while the API server makes its own objects; none of those are ConfigMaps or Secrets that the policy reports.
	r := &receiver{ca: ca, got: make(chan delivery, 100)}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.take))
	r.server.EnableHTTP2 = true
	r.server.TLS = &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	return r
}

// listen moves the receiver to a port that was reserved.
func (r *receiver) listen(t *testing.T, p *port) {
	t.Helper()
	share := func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(err, failed)
	}
	config := net.ListenConfig{Control: share}
	listener, err := config.Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", p.Number))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.server.Listener.Close()
	r.server.Listener = listener
}

func (r *receiver) take(w http.ResponseWriter, request *http.Request) {
	var list auditv1.EventList
	if err := json.NewDecoder(request.Body).Decode(&list); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, event := range list.Items {
		r.got <- delivery{event: event, client: request.TLS.PeerCertificates[0].Subject.CommonName}
	}
}

// audit returns the API server's side, and the certificate it shows.
func (r *receiver) audit(t *testing.T) *Audit {
	t.Helper()
	client, err := r.ca.Client("one.audit.reroll.dev")
	if err != nil {
		t.Fatal(err)
	}
	return &Audit{
		URL:            "https://" + r.server.Listener.Addr().String() + "/v1/audit/one",
		CAPEM:          r.ca.CertPEM(),
		TLSServerName:  "receiver.example",
		Client:         client,
		InitialBackoff: 100 * time.Millisecond,
	}
}

func (r *receiver) next(t *testing.T, ctx context.Context) delivery {
	t.Helper()
	select {
	case d := <-r.got:
		return d
	case <-ctx.Done():
		t.Fatal("no audit event arrived")
		return delivery{}
	}
}

func create(t *testing.T, ctx context.Context, c *Cluster, name string) {
	t.Helper()
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"color": "red"}}
	if _, err := c.Client().CoreV1().ConfigMaps("default").Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestAuditEventsArrive(t *testing.T) {
	t.Parallel()
	ctx, r := testContext(t), newReceiver(t)
	r.server.StartTLS()
	t.Cleanup(r.server.Close)
	c := startControlPlane(t, r.audit(t))
	create(t, ctx, c, "first")
	d := r.next(t, ctx)
	if d.client != "one.audit.reroll.dev" {
		t.Errorf("it was brought by %q", d.client)
	}
	e := d.event
	if e.Verb != "create" || e.Level != auditv1.LevelMetadata || e.Stage != auditv1.StageResponseComplete || e.User.Username != "admin" {
		t.Errorf("event is %+v", e)
	}
	if ref := e.ObjectRef; ref == nil || ref.Resource != "configmaps" || ref.Namespace != "default" || ref.Name != "first" {
		t.Errorf("its object is %+v", e.ObjectRef)
	}
	if e.RequestObject != nil || e.ResponseObject != nil {
		t.Error("it has a body at level Metadata")
	}
}

// The receiver comes up only after the API server has started and a write was made; a stopped API server sends what it holds first.
func TestAuditOfAbsentReceiver(t *testing.T) {
	t.Parallel()
	ctx, r := testContext(t), newReceiver(t)
	reserved, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.release)
	audit := r.audit(t)
	audit.URL = reserved.URL("https") + "/v1/audit/one"
	audit.Level = auditv1.LevelRequestResponse
	c := startControlPlane(t, audit)
	create(t, ctx, c, "lost")
	err = await(ctx, c.process(APIServer), func(ctx context.Context) error {
		n, err := c.AuditErrors(ctx)
		if err == nil && n == 0 {
			return errNotYet
		}
		return err
	})
	if err != nil {
		t.Fatalf("the event that could not be sent is not counted: %v", err)
	}
	r.listen(t, reserved)
	r.server.StartTLS()
	t.Cleanup(r.server.Close)
	create(t, ctx, c, "sent")
	if err := c.StopAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	d := r.next(t, ctx)
	if d.event.ObjectRef == nil || d.event.ObjectRef.Name != "sent" {
		t.Errorf("the event is about %+v", d.event.ObjectRef)
	}
	if d.event.RequestObject == nil || d.event.ResponseObject == nil {
		t.Error("it has no bodies at level RequestResponse")
	}
}
