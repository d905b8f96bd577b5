package auth

import (
	"context"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
)

// TestRunEndsWhatItBegan: whoever waits for Run can be sure that nobody reads the files of CAs any more.
func TestRunEndsWhatItBegan(t *testing.T) {
	before := goleak.IgnoreCurrent()
	server := httptest.NewTLSServer(nil)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Close()
	g, err := New(Options{ClientCAFile: file, API: &rest.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}
