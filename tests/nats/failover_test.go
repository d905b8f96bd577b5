package nats

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// failOverTime is how long after a kill another replica may take to lead, as its Lease says and a busy machine delays.
const failOverTime = 30 * time.Second

// TestForwardingFailsOver: of two dispatchers one works and brings records to a hub. It is killed while configs change; the other one goes on, and
// in the end every workload has the newest content, has rolled for none twice, and the hub has every record once.
func TestForwardingFailsOver(t *testing.T) {
	if _, err := line.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lineTime+2*healTime) // building has its own
	defer cancel()
	h := startFleetHub(ctx, t, line.ClusterName)
	own := documented(t, "server.conf")
	setUp(t, own.ClientURL(), line.ClusterName)
	flags := map[string][]string{}
	for _, role := range []queue.Role{queue.RoleIngest, queue.RoleDispatch, queue.RoleAPI} {
		flags[string(role)] = append(loginFlags(t, role, line.ClusterName), "--nats-bind-only")
	}
	l, err := line.StartRoles(ctx, line.Options{
		Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}, RoleFlags: flags,
		Flags: slices.Concat([]string{"--enable-ha", "--coalesce-window", "200ms", "--flap-limit", "0", "--hub-url", h.url},
			h.flags("hub", user{queue.RoleForward, line.ClusterName})),
		Environment: []string{"POD_NAME=one", "POD_NAMESPACE=default"},
	}, own.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	p := newPairs(ctx, t, l)
	second, err := l.AddDispatch("POD_NAME=two", "POD_NAMESPACE=default")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	p.edit(ctx)
	brings(ctx, t, l, l.Dispatch)
	if led, err := leads(ctx, second); led || err != nil {
		t.Fatalf("the second dispatcher leads: %t, %v", led, err)
	}
	l.Dispatch.Kill()
	killed := time.Now()
	wait(ctx, t, l, func(ctx context.Context) error {
		if led, err := leads(ctx, second); !led || err != nil {
			return errors.Join(errors.New("nobody leads"), err)
		}
		return nil
	})
	if took := time.Since(killed); took > failOverTime {
		t.Errorf("the other one leads %s after the kill", took.Round(time.Millisecond))
	}
	brings(ctx, t, l, second)
	p.stop()
	p.settle(ctx, healTime)
	p.mu.Lock()
	for i, contents := range p.contents {
		for _, fault := range doubled(contents, p.seen[pairName(i)]) {
			t.Errorf("%s: %s", pairName(i), fault)
		}
	}
	p.mu.Unlock()
	(&fleetMember{l, t, line.ClusterName, p.ns}).arrives(ctx, h)
}

// leads reports whether a dispatcher is the one that works.
func leads(ctx context.Context, r *line.Reroll) (bool, error) {
	metrics, err := r.Metrics(ctx)
	return strings.Contains(metrics, "\nreroll_leader 1\n"), err
}

var broughtReloads = regexp.MustCompile(`(?m)^reroll_forward_records_total{records="reloads"} (\d+)$`)

// brings waits until a dispatcher has brought a reload of each pair and more to the hub.
func brings(ctx context.Context, t *testing.T, l *line.Line, r *line.Reroll) {
	t.Helper()
	wait(ctx, t, l, func(ctx context.Context) error {
		metrics, err := r.Metrics(ctx)
		if err != nil {
			return err
		}
		n := 0
		if found := broughtReloads.FindStringSubmatch(metrics); found != nil {
			n, err = strconv.Atoi(found[1])
		}
		if err == nil && n <= pairCount {
			err = fmt.Errorf("it has brought %d reloads", n)
		}
		return err
	})
}
