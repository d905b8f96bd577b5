package nats

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestStartWithoutLeader: a process that starts while two of three servers are away says so and goes on asking, for longer than one question
// may take, and is ready once they are back. It does not end meanwhile.
func TestStartWithoutLeader(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := startThree(ctx, t, line.ClusterName)
	c.kill("n1")
	c.kill("n2")
	poll(ctx, t, func() error {
		ask, stop := context.WithTimeout(ctx, askTime)
		defer stop()
		if _, err := c.js.AccountInfo(ask); err == nil {
			return errors.New("somebody still leads")
		}
		return nil
	})
	r, err := line.NewAPI(c.url, "--nats-replicas", strconv.Itoa(members))
	if err != nil {
		t.Fatal(err)
	}
	binary, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.Use(binary)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Kill)
	poll(ctx, t, func() error {
		if asked := strings.Count(r.Log(), "NATS is not ready yet"); asked < 2 {
			return errors.New("it has not asked twice")
		}
		return nil
	})
	for _, name := range []string{"n1", "n2"} {
		if err := c.start(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.WaitReady(ctx); err != nil {
		t.Fatalf("the servers are back: %v\n%s", err, r.Log())
	}
}
