package watch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/reroll-dev/reroll/tests/kube"
)

// shared is the cluster of all tests. Nothing acts on what is stored there.
var shared *kube.Cluster

// clientLog has what client-go has logged.
var clientLog safeBuffer

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	klog.LogToStderr(false)
	klog.SetOutput(&clientLog)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	var err error
	shared, err = kube.Start(ctx, kube.Options{ControlPlaneOnly: true})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	return m.Run(), nil
}

// safeBuffer is a buffer that several goroutines may use.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
