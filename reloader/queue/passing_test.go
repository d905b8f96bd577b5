//go:build nightly

package queue

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// TestLeaderlessClusterPasses: one of two servers has no leader as long as the other is away. Whoever opens a queue there is told so by an
// error that passes, and once the other is there, it has passed.
func TestLeaderlessClusterPasses(t *testing.T) {
	first, second := freePort(t), freePort(t)
	member := func(name string, own, other int) *server.Server {
		return external(t, t.TempDir(), -1, func(o *server.Options) {
			o.ServerName = name
			o.Cluster = server.ClusterOpts{Name: "pair", Host: "127.0.0.1", Port: own}
			o.Routes = []*url.URL{{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", other)}}
		})
	}
	s := member("a", first, second)
	try := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), waitTime)
		defer cancel()
		q, err := Open(ctx, Options{URL: s.ClientURL(), MaxStore: testStore, Logger: quiet()})
		if err == nil {
			closeQueue(t, q)
		}
		return err
	}
	if err := try(); !Passes(err) {
		t.Fatalf("without a leader: %v, want an error that passes", err)
	}
	member("b", second, first)
	eventually(t, "both are there", func() bool {
		err := try()
		if err != nil && !Passes(err) {
			t.Fatalf("while a leader is elected: %v, want an error that passes", err)
		}
		return err == nil
	})
}

// TestWhatDoesNotPass: what somebody has to mend is told at once.
func TestWhatDoesNotPass(t *testing.T) {
	s := external(t, t.TempDir(), -1, func(o *server.Options) { o.Username, o.Password = "reroll", "right" })
	for name, address := range map[string]string{
		"no JetStream":     external(t, t.TempDir(), -1, func(o *server.Options) { o.JetStream = false }).ClientURL(),
		"nobody listens":   fmt.Sprintf("nats://127.0.0.1:%d", freePort(t)),
		"a wrong password": "nats://reroll:wrong@" + s.Addr().String(),
	} {
		q, err := Open(testContext(t), Options{URL: address, Logger: quiet()})
		if err == nil {
			closeQueue(t, q)
		}
		if err == nil || Passes(err) {
			t.Errorf("%s: %v, want an error that does not pass", name, err)
		}
	}
}

func TestPasses(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&jetstream.APIError{Code: 503, ErrorCode: codeNotAvailable}, true},
		{&jetstream.APIError{Code: 400, ErrorCode: codeNoPeers}, true},
		{fmt.Errorf("stream HINTS: %w", &jetstream.APIError{Code: 500, ErrorCode: codeStreamAway}), true},
		{fmt.Errorf("%w: %w", ErrDenied, context.DeadlineExceeded), false},
		{&jetstream.APIError{Code: 400, ErrorCode: 10052}, false},
		{fmt.Errorf("%w within %v", errSilent, time.Second), true},
		{ErrDisconnected, true},
		{fmt.Errorf("%w: %w", ErrFull, &jetstream.APIError{Code: 503, ErrorCode: codeNoResources}), false},
		{ErrOldServer, false},
		{ErrOtherCluster, false},
		{errors.New("anything else"), false},
		{nil, false},
	} {
		if got := Passes(c.err); got != c.want {
			t.Errorf("%v passes: %v, want %v", c.err, got, c.want)
		}
	}
}
