package kube

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader"
)

// herald is an API server that records requests about the canary. All heralds are of one cluster: they have the same certificate.
type herald struct {
	*httptest.Server
	mu sync.Mutex
	// requests are the methods with their audit IDs.
	requests []string
	// slice is what the EndpointSlice holds, and status that of the answer instead of it.
	slice  string
	status int
}

func newHerald(t *testing.T) *herald {
	t.Helper()
	h := &herald{}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/namespaces/ops/{resource}/reroll-canary", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.requests = append(h.requests, r.Method+" "+r.Header.Get("Audit-ID"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("GET /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if h.status != 0 {
			w.WriteHeader(h.status)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, map[int]string{403: "Forbidden", 404: "NotFound", 500: "InternalError"}[h.status], h.status)
			return
		}
		_, _ = w.Write([]byte(`{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"name":"kubernetes"},"addressType":"IPv4",` + h.slice + `}`))
	})
	h.Server = httptest.NewTLSServer(mux)
	t.Cleanup(h.Close)
	return h
}

// clusterAt returns a connection to h by a name that its certificate is good for.
func clusterAt(t *testing.T, h *herald) *Cluster {
	t.Helper()
	config := &rest.Config{
		Host:            h.URL,
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}), ServerName: "example.com"},
	}
	c := newCluster(&connection{Namespace: "ops", config: config})
	must(t, c.makeClients())
	return c
}

func TestCanaryIsTouchedThroughEachAPIServer(t *testing.T) {
	one, two := newHerald(t), newHerald(t)
	port := func(h *herald) string { return h.URL[strings.LastIndex(h.URL, ":")+1:] }
	// Two ports of one address stand for two machines; the certificate is not good for "localhost".
	one.slice = fmt.Sprintf(`"ports":[{"name":"https","port":%s},{"name":"https","port":%s},{"name":"metrics","port":1}],"endpoints":[{"addresses":["127.0.0.1"]},{"addresses":["10.0.0.9"],"conditions":{"ready":false}}]`, port(one), port(two))
	c := clusterAt(t, one)
	addresses, err := c.CanaryAddresses(t.Context())
	if err != nil || len(addresses) != 2 {
		t.Fatalf("addresses %q, %v; want two", addresses, err)
	}
	for i := range 2 {
		for _, address := range addresses {
			if _, err := c.TouchCanary(t.Context(), address, reloader.ConfigMap, fmt.Sprintf("id-%d", i), false); err != nil {
				t.Errorf("touch through %s: %v", address, err)
			}
		}
	}
	want := []string{"PATCH id-0", "PATCH id-1"}
	for _, h := range []*herald{one, two} {
		if diff := cmp.Diff(want, h.requests); diff != "" {
			t.Errorf("requests to %s (-want +got):\n%s", h.URL, diff)
		}
	}
	// Anyone who sits at an address of old must be the cluster.
	c.config.ServerName = "another.example.org"
	if _, err := c.TouchCanary(t.Context(), two.URL, reloader.ConfigMap, "id", false); err == nil {
		t.Error("the canary goes to an API server with another name in its certificate")
	}
}

func TestAddressesWithoutASlice(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		status int
		slice  string
		fails  bool
	}{
		"forbidden":    {"an account of some namespaces may not know", http.StatusForbidden, "", false},
		"missing":      {"a control plane need not enter itself", http.StatusNotFound, "", false},
		"unanswerable": {"nobody knows", http.StatusInternalServerError, "", true},
	} {
		h := newHerald(t)
		h.status, h.slice = tc.status, tc.slice
		addresses, err := clusterAt(t, h).CanaryAddresses(t.Context())
		if (err != nil) != tc.fails {
			t.Errorf("%s: %v: %s", name, err, tc.reason)
		}
		if diff := cmp.Diff([]string{h.URL}, addresses); !tc.fails && diff != "" {
			t.Errorf("%s (-want +got):\n%s%s", name, diff, tc.reason)
		}
	}
}
