package auth

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/contract"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/pki"
)

// shared is the line of all tests. Its API takes tokens.
var (
	shared *line.Line
	// serving is the CA of the API's own certificate.
	serving *pki.CA
	// wire holds every request and its answer against the document that the API serves.
	wire *contract.Wire
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	dir, err := os.MkdirTemp("", "reroll-auth-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // they are temporary files
	flags, err := makeFiles(dir)
	if err != nil {
		return 1, err
	}
	shared, err = line.Start(ctx, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: append(flags, "--set", "debounce.window=100ms", "--set", "api.auth=token"),
	})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	if wire, err = contract.Tap(ctx, &http.Transport{TLSClientConfig: trust()}, address()); err != nil {
		return 1, err
	}
	code := m.Run()
	return code, wire.Faults()
}

// address is the URL of the API.
func address() string { return "https" + shared.Reroll.API[len("http"):] }

// trust is what a client believes that asks the API.
func trust() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(serving.CertPEM())
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// held fails unless exchanges of these kinds were held against the document: see contract.Wire.Seen.
func held(t *testing.T, kinds ...string) {
	t.Helper()
	seen := wire.Seen()
	for _, kind := range kinds {
		if seen[kind] == 0 {
			t.Errorf("no exchange %q was held against the contract, only %v", kind, seen)
		}
	}
}

// makeFiles writes the certificates that the API needs and returns the flags that name them.
func makeFiles(dir string) ([]string, error) {
	var err error
	if serving, err = pki.NewCA("serving"); err != nil {
		return nil, err
	}
	pair, err := serving.Server("reroll", "127.0.0.1")
	if err != nil {
		return nil, err
	}
	var flags []string
	for key, content := range map[string][]byte{"api.tlsCert": pair.CertPEM, "api.tlsKey": pair.KeyPEM} {
		file := filepath.Join(dir, key+".pem")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, err
		}
		flags = append(flags, "--set", key+"="+file)
	}
	return flags, nil
}

// caller is a user who uses the API.
type caller struct {
	token   string
	headers map[string]string
}

// client returns an HTTP client.
func (c caller) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: trust()}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: wire.Over(transport)}
}

// ask sends a request and returns the answer, again while it is told to ask less often.
func (c caller) ask(t *testing.T, method, path string, body any) (code int, answer []byte) {
	t.Helper()
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	client := c.client(t)
	for {
		code, answer = c.askOnce(t, client, method, path, sent)
		if code != http.StatusTooManyRequests {
			return code, answer
		}
		select {
		case <-time.After(time.Second):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func (c caller) askOnce(t *testing.T, client *http.Client, method, path string, body []byte) (code int, answer []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}

// eventually polls until check returns nil, for as long as a slow machine may take.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := line.Poll(ctx, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}
