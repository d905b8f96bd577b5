package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// libraryLog has what libraries have logged since TestMain. klog's logger is set there, before any test: klog does not guard it against
// the goroutines that another test has left behind.
var libraryLog safeBuffer

// safeBuffer is a buffer that several goroutines may use.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends to the buffer.
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

// TestLibrariesLogLikeUs: what a library reports is a line of our log, in its format.
func TestLibrariesLogLikeUs(t *testing.T) {
	before := len(libraryLog.String())
	utilruntime.HandleErrorWithContext(t.Context(), errors.New("connection refused"), "watch ended", "type", "Deployment")
	type entry struct{ Level, Msg, Err, Type string }
	for text := range strings.Lines(libraryLog.String()[before:]) {
		var line entry
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line == (entry{"ERROR", "watch ended", "connection refused", "Deployment"}) {
			return
		}
	}
	t.Errorf("logged %s", libraryLog.String()[before:])
}
