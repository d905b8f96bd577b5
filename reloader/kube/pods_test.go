package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// sleeper is a command that does not end before its client.
type sleeper struct{ ended chan error }

func (s sleeper) ExecInContainer(ctx context.Context, _, _, _ string, _ []string, _ io.Reader, _, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	for {
		select {
		case <-time.After(10 * time.Millisecond):
			if _, err := errs.Write([]byte(".")); err != nil {
				s.ended <- err
				return err
			}
		case <-ctx.Done():
			s.ended <- ctx.Err()
			return ctx.Err()
		}
	}
}

// TestPodsOfAnEndedTerm: a command that does not end is left after its time. A process that leads no more annotates no pod, runs no command,
// although that begins with a GET, and calls none.
func TestPodsOfAnEndedTerm(t *testing.T) {
	var asked atomic.Int32
	s := sleeper{make(chan error, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method == http.MethodGet { // no WebSockets
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		remotecommand.ServeExec(w, r, s, "", "", "", nil, &remotecommand.Options{Stderr: true}, time.Minute, time.Minute, remotecommand.SupportedStreamingProtocols)
	}))
	t.Cleanup(server.Close)
	c := newCluster(&connection{config: &rest.Config{Host: server.URL}})
	if err := c.makeClients(); err != nil {
		t.Fatal(err)
	}
	pods, w := NewPods(c), &workload.Workload{Kind: "Deployment"}
	pods.execTime = 100 * time.Millisecond
	if err := pods.Exec(t.Context(), w, workload.RunningPod{Name: "web-a"}, "main", []string{"sleep"}); !errors.Is(err, errExecTime) || asked.Load() != 2 {
		t.Errorf("a command that does not end: %v after %d requests", err, asked.Load())
	}
	if err := <-s.ended; err == nil {
		t.Error("the connection is still open")
	}

	c.fence.close()
	_, called := pods.Servers(t.Context())
	for what, err := range map[string]error{
		"refresh": pods.Refresh(t.Context(), w, workload.RunningPod{Name: "web-a"}, "1"),
		"exec":    pods.Exec(t.Context(), w, workload.RunningPod{Name: "web-a"}, "main", []string{"reload"}),
		"call":    called,
	} {
		if !errors.Is(err, ErrLeadershipLost) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d requests", asked.Load())
	}
}
