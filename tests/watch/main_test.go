package watch

import (
	"bytes"
	"sync"
	"testing"

	"k8s.io/klog/v2"

	"github.com/reroll-dev/reroll/tests/kube"
)

// shared is the cluster of all tests. Nothing acts on what is stored there.
var shared *kube.Cluster

// clientLog has what client-go has logged.
var clientLog safeBuffer

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(&clientLog)
	kube.Main(m, &shared, kube.Options{ControlPlaneOnly: true})
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
