package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	// tormentTime bounds all that is done to the NATS cluster, and healTime what comes after.
	tormentTime, healTime = 5 * time.Minute, time.Minute
)

// leaders are the streams that changes go through, and the consumer that delivers the hints.
var leaders = []natsserver.Led{
	{Stream: "HINTS"},
	{Stream: "HISTORY"},
	{Stream: "STATE"},
	{Stream: "HINTS", Consumer: "dispatch-" + line.ClusterName},
}

// TestLeadersChange kills each leader of a NATS cluster that Reroll uses, asks each to step down, and takes the quorum away, while configs
// change. Each workload has the newest content then, has rolled for no content twice, and has each roll on record once.
func TestLeadersChange(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), lineTime+tormentTime+2*healTime)
	defer cancel()
	c := natsserver.StartCluster(t)
	replicas := []string{"--nats-replicas", strconv.Itoa(natsserver.Members)}
	line.Eventually(t, "the streams", func(ctx context.Context) error {
		setup, err := queue.Setup(ctx, queue.Options{URL: c.URL, Replicas: natsserver.Members, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		return setup.Close(ctx)
	})
	l, err := line.StartRoles(ctx, line.Options{
		Kube:      kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags:     []string{"--coalesce-window", "200ms", "--flap-limit", "0"},
		RoleFlags: map[string][]string{"ingest": replicas, "dispatch": replicas, "api": replicas},
	}, c.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	p := newPairs(ctx, t, l)

	p.edit(ctx)
	torment(ctx, t, l, c)
	p.stop()
	p.settle(ctx, healTime)
	p.judge(ctx)

	t.Log("afterwards each edit is one roll")
	before := p.generations(ctx)
	for i := range p.contents {
		p.give(ctx, i)
	}
	p.settle(ctx, healTime)
	for name, now := range p.generations(ctx) {
		if now != before[name]+1 {
			t.Errorf("%s went from generation %d to %d for one edit", name, before[name], now)
		}
	}
	p.judge(ctx)
}

// torment does to the cluster what is to be survived, one thing after the other.
func torment(ctx context.Context, t *testing.T, l *line.Line, c *natsserver.Cluster) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, tormentTime)
	defer cancel()
	for what, do := range map[string]func(context.Context, natsserver.Led) error{
		"killed": func(ctx context.Context, of natsserver.Led) error {
			return c.KillLeader(ctx, of, func() error { return nil })
		},
		"asked to step down": c.AskToStepDown,
	} {
		for _, of := range leaders {
			if err := do(ctx, of); err != nil {
				t.Fatalf("the leader of %v was %s: %v", of, what, err)
			}
		}
	}
	t.Logf("eight leaders after %v", time.Since(began))
	takeQuorum(ctx, t, l, c)
	t.Logf("done after %v", time.Since(began))
}

// takeQuorum kills two of three, neither of which leads a stream. It starts them again when ingest has refused hints, and the leader that is left has
// noticed that it is alone.
func takeQuorum(ctx context.Context, t *testing.T, l *line.Line, c *natsserver.Cluster) {
	t.Helper()
	survivor, err := c.Leader(ctx, leaders[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LeadAll(ctx, survivor); err != nil {
		t.Fatal(err)
	}
	refused, err := refusals(ctx, l.Ingest)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range c.Names() {
		if name != survivor {
			c.Kill(name)
		}
	}
	err = line.Poll(ctx, func(ctx context.Context) error {
		now, err := refusals(ctx, l.Ingest)
		if err == nil && now == refused {
			err = errors.New("ingest has answered nothing with 503")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	err = line.Poll(ctx, func(ctx context.Context) error {
		_, err := c.Info(ctx, leaders[0])
		if errors.Is(err, natsserver.ErrNoLeader) {
			return nil
		}
		return errors.Join(errors.New("the leader that is left has not given up"), err)
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range c.Names() {
		if name != survivor {
			if err := c.Start(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(l.Ingest.WaitReady(ctx), l.Dispatch.WaitReady(ctx), l.Reroll.WaitReady(ctx)); err != nil {
		t.Fatalf("with a quorum again: %v", err)
	}
}

var refusalMetric = regexp.MustCompile(`(?m)^reroll_ingest_requests_total\{cluster="local",code="503"\} (\S+)$`)

// refusals returns how many requests of the API server ingest has answered with 503.
func refusals(ctx context.Context, ingest *line.Reroll) (int, error) {
	text, err := ingest.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	match := refusalMetric.FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("no count of refusals in %s", strings.TrimSpace(text))
	}
	return strconv.Atoi(match[1])
}
