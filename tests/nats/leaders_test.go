package nats

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	// tormentTime bounds all that is done to the NATS cluster, and healTime what comes after.
	tormentTime, healTime = 5 * time.Minute, time.Minute
	// darkTime is for how long nobody leads, after the leader that was left has found out that it is alone; that takes it ten to twenty seconds.
	darkTime = 5 * time.Second
)

// leaders are the streams that changes go through, and the consumer that delivers the hints.
var leaders = []natsserver.Led{
	{Stream: "HINTS"},
	{Stream: "CHANGES"},
	{Stream: "RELOADS"},
	{Stream: "KV_reroll_workloads"},
	{Stream: "HINTS", Consumer: "dispatch-" + line.ClusterName},
}

// TestLeadersChange kills each leader of a NATS cluster that Reroll uses, asks each to step down, and takes the quorum away, while configs
// change. Each workload has the newest content then, has rolled for no content twice, and has each roll on record once.
func TestLeadersChange(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), lineTime+tormentTime+2*healTime)
	defer cancel()
	c := natsserver.StartCluster(t)
	replicas := []string{"--nats-replicas", strconv.Itoa(natsserver.Members)}
	line.Eventually(t, "the streams", func(context.Context) error {
		out, err := reroll(t, append([]string{"nats", "setup", "--nats-url", c.URL, "--cluster", line.ClusterName, "--nats-store-size", "1Gi"}, replicas...)...)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
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
	t.Logf("ten leaders after %v", time.Since(began))
	takeQuorum(ctx, t, l, c)
	t.Logf("done after %v", time.Since(began))
}

// takeQuorum kills two of three, of which neither leads a stream. The one that leads all goes on to believe so for a while, and answers whatever
// is asked; what it says of the others is all that tells. It starts them again when ingest has refused, every role has said why it is not ready, and
// has gone on to say so after the leader has given up.
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
	var all sync.WaitGroup
	for name, role := range map[string]*line.Reroll{"ingest": l.Ingest, "dispatch": l.Dispatch, "api": l.Reroll} {
		all.Go(func() {
			if err := line.Poll(ctx, unready(role)); err != nil {
				t.Errorf("%s without a quorum: %v", name, err)
			}
		})
	}
	all.Wait()
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
	stayUnready(ctx, t, l, c)
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

// stayUnready waits until the leader that is left has given up. From then on it answers as somebody who follows nobody, and no role may take that
// for an answer.
func stayUnready(ctx context.Context, t *testing.T, l *line.Line, c *natsserver.Cluster) {
	t.Helper()
	err := line.Poll(ctx, func(ctx context.Context) error {
		_, err := c.Info(ctx, leaders[0])
		if errors.Is(err, natsserver.ErrNoLeader) {
			return nil
		}
		return errors.Join(errors.New("the leader that is left has not given up"), err)
	})
	if err != nil {
		t.Error(err)
	}
	tick := time.NewTicker(darkTime / 10)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		for _, role := range []*line.Reroll{l.Ingest, l.Dispatch, l.Reroll} {
			if code, answer, err := role.Probe(ctx, "/readyz?verbose"); err != nil || code != http.StatusServiceUnavailable {
				t.Errorf("while nobody leads, readyz answers %d: %s, %v", code, answer, err)
			}
		}
	}
}

// noQuorum is what a role says of a stream that has no leader, or one and no majority.
const noQuorum = "no quorum"

// unready returns a check that fails as long as a role does not say that it is not ready, and why.
func unready(r *line.Reroll) func(context.Context) error {
	return func(ctx context.Context) error {
		code, answer, err := r.Probe(ctx, "/readyz?verbose")
		if err == nil && (code != http.StatusServiceUnavailable || !strings.Contains(answer, noQuorum)) {
			err = fmt.Errorf("readyz answers %d, and not that there is %s: %s", code, noQuorum, answer)
		}
		return err
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
