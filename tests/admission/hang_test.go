package admission

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/reroll-dev/reroll/tests/port"
)

// errNotAsked is the error of a webhook that the API server has not heard of yet.
var errNotAsked = errors.New("the silent webhook is not asked yet")

// TestHang: a webhook that takes requests and never answers keeps nobody from writing. Whoever has opted in waits until the API server has had
// enough of it, and nobody else waits at all.
func TestHang(t *testing.T) {
	s := newSite(t)
	var asked atomic.Int64
	ca := s.authority("silent")
	pair, err := ca.Server("silent", "127.0.0.1")
	s.must(err)
	certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	s.must(err)
	addresses, err := port.Addresses(1)
	s.must(err)
	listener, err := net.Listen("tcp", addresses[0])
	s.must(err)
	silent := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			select {
			case <-r.Context().Done():
			case <-s.ctx.Done():
			}
		}),
	}
	served := make(chan error, 1)
	go func() { served <- silent.ServeTLS(listener, "", "") }()
	defer func() {
		_ = silent.Close()
		<-served
	}()

	s.registered(addresses[0], ca.CertPEM())
	defer s.kubectl("delete", "mutatingwebhookconfiguration", fromFiles)
	s.kubectl("patch", "mutatingwebhookconfiguration", fromFiles, "--type=json", "--patch", `[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":2}]`)
	s.apply("client", s.configFile("app", "one"), s.deploymentFile("web", "app", "1", auto), s.deploymentFile("plain", "app", "1"))
	image := 1
	s.await(func() error {
		image++
		s.apply("client", s.deploymentFile("web", "app", strconv.Itoa(image), auto))
		if asked.Load() == 0 {
			return errNotAsked
		}
		return nil
	})
	if s.mark("web", "app") == "" {
		t.Error("it was stored without the mark that the other webhook gives it")
	}
	if got := s.deployment("web").Spec.Template.Spec.Containers[0].Image; got != fmt.Sprint("example.com/web:", image) {
		t.Errorf("its image is %s", got)
	}
	before := asked.Load()
	s.apply("client", s.deploymentFile("plain", "app", "2"))
	if asked.Load() != before {
		t.Error("it is asked about a workload that has not opted in")
	}
}
