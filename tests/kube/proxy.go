package kube

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Between lets a test stand between a process and the API server, which takes the process for the user of config. It returns the kubeconfig for the
// process. Requests go through what handler makes of the way to the API server.
func Between(t testing.TB, config *rest.Config, handler func(forward *httputil.ReverseProxy) http.Handler) (kubeconfigFile string) {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	if forward.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	forward.ErrorLog = log.New(io.Discard, "", 0) // watches end in the middle
	server := httptest.NewServer(handler(forward))
	t.Cleanup(func() {
		server.CloseClientConnections() // watches would continue
		server.Close()
	})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfig("proxy", &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.AuthInfo{}), file); err != nil {
		t.Fatal(err)
	}
	return file
}
