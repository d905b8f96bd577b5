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

// unread is what the library leaves behind of a file that it could not read at the start, which ends the process.
var unread = goleak.IgnoreTopFunction("k8s.io/client-go/util/workqueue.(*delayingType[...]).waitingLoop")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, unread) }

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
