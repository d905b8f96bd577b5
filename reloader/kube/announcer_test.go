package kube

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// in returns a workload of a namespace.
func in(namespace string) *workload.Workload {
	w := web()
	w.Namespace = namespace
	return w
}

// TestSlowNamespaceHoldsUpNoOther: Events of one namespace are written while the API server does not answer those of another, which has as many
// as may wait.
func TestSlowNamespaceHoldsUpNoOther(t *testing.T) {
	written, release := make(chan string, maxEvents), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/hostile/") {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		written <- r.URL.Path
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"Event","apiVersion":"v1"}`)
	}))
	defer server.Close()
	defer close(release)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAnnouncer(&Cluster{client: client}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	for i := range maxNamespaceEvents + 5 {
		a.Complain(in("hostile"), fmt.Sprint(i))
	}
	a.Complain(in("shop"), "bad")
	if n := testutil.ToFloat64(a.dropped); n != 5 {
		t.Errorf("%v Events were dropped, want the 5 beyond the limit of the namespace", n)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	if path := <-written; !strings.Contains(path, "/shop/") {
		t.Errorf("%s was written first", path)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
