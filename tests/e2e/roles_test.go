//go:build nightly

package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/port"
)

// at has a server keep its files in a folder and listen at a port.
func at(store string, port int) func(*server.Options) {
	return func(o *server.Options) { o.StoreDir, o.Port = store, port }
}

// roles are the three processes of a line, by name.
func (r *room) roles() map[string]*line.Reroll {
	return map[string]*line.Reroll{"ingest": r.line.Ingest, "dispatch": r.line.Dispatch, "api": r.line.Reroll}
}

// TestRoles runs each role as a process of its own, and takes away first NATS, then the API server, then one role after another.
func TestRoles(t *testing.T) {
	store := t.TempDir()
	ports, err := port.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	nats := natsserver.Start(t, at(store, ports[0]))
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	l, err := line.StartRoles(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: 3 * time.Second}}, // what is posted in vain comes again for 24 s
		Flags: []string{"--set", "debounce.window=" + window.String()},
	}, nats.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	r := newRoom(t, l)
	r.ctx, cancel = context.WithTimeout(t.Context(), 2*testTime) // each role is away for a while
	defer cancel()
	r.create(configMap("app", map[string]string{"k": "0"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)

	t.Log("an edit rolls, and the api role knows why")
	r.setData("app", "k", "1")
	r.expectRolls("web", 1)
	r.waitReloads("web", 1)

	nats = r.surviveNATS(nats, store)
	r.surviveAPIServer()
	r.surviveRoles()

	t.Log("each role ends in order, also without NATS")
	natsserver.Stop(nats)
	for name, role := range r.roles() {
		if err := role.Terminate(r.ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// surviveNATS stops NATS, edits, and starts NATS again, on the same port with the same files.
func (r *room) surviveNATS(nats *server.Server, store string) *server.Server {
	r.t.Helper()
	r.t.Log("without NATS every role is alive and not ready, and ingest asks the API server to come again")
	port := nats.Addr().(*net.TCPAddr).Port
	natsserver.Stop(nats)
	for name := range r.roles() {
		r.waitUnready(name, "nats")
	}
	r.setData("app", "k", "2")
	r.waitMetric(r.line.Ingest, `reroll_ingest_requests_total{cluster="local",code="503"} `, "0")

	nats = natsserver.Start(r.t, at(store, port))
	r.waitAllReady()
	r.expectRolls("web", 2)
	r.waitReloads("web", 2)
	return nats
}

// surviveAPIServer stops the API server and starts it again.
func (r *room) surviveAPIServer() {
	r.t.Helper()
	r.t.Log("without the API server the dispatch role is alive and not ready, and the others do not mind")
	r.must(r.line.Kube.StopAPIServer(r.ctx))
	r.waitUnready("dispatch", "apiserver")
	for _, name := range []string{"ingest", "api"} {
		code, answer, err := r.roles()[name].Probe(r.ctx, "/readyz?verbose")
		r.must(err)
		if code != 200 {
			r.t.Errorf("%s is not ready without an API server that it does not use: %s", name, answer)
		}
	}
	r.must(r.line.Kube.StartAPIServer(r.ctx))
	r.waitAllReady()
	r.setData("app", "k", "3")
	r.expectRolls("web", 3)
}

// awayTime is how long a role stays away: longer than the requests behind one change are usually apart.
const awayTime = 12 * time.Second

// outlast waits for a time.
func (r *room) outlast(wait time.Duration) {
	r.t.Helper()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.ctx.Done():
		r.t.Fatal(r.ctx.Err())
	case <-timer.C:
	}
}

// surviveRoles ends each role in turn, edits, and starts it again.
func (r *room) surviveRoles() {
	r.t.Helper()
	rolled := int64(3)
	for _, name := range []string{"ingest", "dispatch", "api"} {
		r.t.Logf("an edit while the %s role is away is rolled once", name)
		role := r.roles()[name]
		r.must(role.Terminate(r.ctx))
		rolled++
		r.setData("app", "k", fmt.Sprint(rolled))
		if name == "dispatch" {
			r.outlast(awayTime) // ingest must be back before the API server gives up
		}
		r.must(role.Start())
		r.waitAllReady()
		r.expectRolls("web", rolled)
	}
	r.waitReloads("web", int(rolled))
}

// waitAllReady waits until every role is ready; one that has ended is an error.
func (r *room) waitAllReady() {
	r.t.Helper()
	for name, role := range r.roles() {
		if err := role.WaitReady(r.ctx); err != nil {
			r.t.Fatalf("%s: %v\nits log:\n%s", name, err, tail(role.Log()))
		}
	}
}

// waitUnready waits until a role says that a check fails, and sees that it says so itself, alive.
func (r *room) waitUnready(name, check string) {
	r.t.Helper()
	role := r.roles()[name]
	err := line.Poll(r.ctx, func(ctx context.Context) error {
		code, answer, err := role.Probe(ctx, "/readyz")
		if err != nil {
			return line.Stop(err)
		}
		if code != 503 || !strings.Contains(answer, "[-]"+check+" failed: ") {
			return fmt.Errorf("readyz answers %d: %s", code, answer)
		}
		return nil
	})
	if err != nil {
		r.t.Fatalf("%s: %v\nits log:\n%s", name, err, tail(role.Log()))
	}
	for _, path := range []string{"/livez", "/live"} {
		if code, answer, err := role.Probe(r.ctx, path); err != nil || code != 200 {
			r.t.Errorf("%s is not alive: %s: %d %s %v", name, path, code, answer, err)
		}
	}
}

// waitReloads waits until the REST API lists n reloads of a workload, each with a cause, and each cause with the request behind it.
func (r *room) waitReloads(name string, n int) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		if err != nil {
			return err
		}
		got := 0
		for _, reload := range reloads {
			if reload.Workload.Name == name && reload.Outcome == "Reloaded" && explained(reload) {
				got++
			}
		}
		if got != n {
			return fmt.Errorf("%d reloads of %s are listed with who caused them, not %d: %+v", got, name, n, reloads)
		}
		return nil
	}))
}
