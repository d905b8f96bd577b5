package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/nats/servers"
)

// TestOldHubs has clusters bring their records to a hub, follow configs of each other, and leave it, on servers of each supported version, with
// accounts and permissions as documented.
func TestOldHubs(t *testing.T) {
	versions, err := servers.Versions()
	if err != nil || len(versions) != len(features) {
		t.Fatalf("versions %q: %v", versions, err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			binary, err := servers.Path(t.Context(), version)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // building has its own
			defer cancel()
			h := startFleetHubAs(ctx, t, func(config string) *exec.Cmd { return exec.Command(binary, "--config", config) }, "c1", "c2")
			oldHub(ctx, t, h, version)
		})
	}
}

// oldHub does all that a hub is for, kills the server, and has a cluster removed.
func oldHub(ctx context.Context, t *testing.T, h *fleetHub, version string) {
	t.Helper()
	var log safeBuffer
	seen := h.watch(ctx, t, &log)
	wants, copies := make(chan reloader.Want, 100), make(chan reloader.Copy, 100)
	followed := app
	followed.Cluster = "c1"
	own := open(ctx, t, queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20})
	owner := h.forward(ctx, t, own, "c1", queue.Following{
		Followed: nobody, Received: func(reloader.Copy) {}, Wanted: func(w reloader.Want) { wants <- w },
	})
	h.forward(ctx, t, open(ctx, t, queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20}), "c2", queue.Following{
		Followed: func() []reloader.Follow { return []reloader.Follow{{Config: followed}} },
		Received: func(c reloader.Copy) { copies <- c }, Wanted: func(reloader.Want) {},
	})
	if err := store(ctx, own, "c1"); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, func() error { return seen.has("change one", "reload r-1", "record web", "status c1", "status c2") })
	if want := receive(ctx, t, wants); want.Target != "c2" {
		t.Errorf("the owner is asked %+v", want)
	}
	owner.Send(reloader.Copy{Owner: "c1", Target: "c2", Config: app, Change: change("c1", "one")})
	if got := receive(ctx, t, copies); got.Change.New.Sum != "one" {
		t.Errorf("the target is told %+v", got)
	}

	h.kill()
	stored, found, err := own.LatestChange(ctx, "c1", app)
	if err != nil || !found {
		t.Fatal(err)
	}
	if _, err := own.AppendChange(ctx, change("c1", "two"), stored.Sequence); err != nil {
		t.Fatal(err)
	}
	h.start(ctx)
	if err := own.DeleteWorkload(ctx, "c1", web); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, func() error { return seen.has("change two", "end of web") })
	if n := seen.twice(); len(n) > 0 {
		t.Errorf("these came twice: %v", n)
	}

	seen.forget()
	o := h.options(user{queue.RoleHubAdmin, ""})
	if steps, err := queue.RemoveFromHub(ctx, o, queue.Removal{Cluster: "c1"}); err != nil || len(steps) != 5 {
		t.Errorf("removing it did %v: %v", steps, err)
	}
	poll(ctx, t, func() error { return seen.has("no c1 any more") })
	owner.PutStatus(reloader.ClusterStatus{Cluster: "c1", Version: "v1"})
	poll(ctx, t, func() error { return seen.has("change one", "change two", "reload r-1", "status c1") })
	h.add(ctx, "c3")
	h.forward(ctx, t, open(ctx, t, queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20}), "c3", queue.Following{}).
		PutStatus(reloader.ClusterStatus{Cluster: "c3", Version: "v1"})
	poll(ctx, t, func() error { return seen.has("status c3") })
	if got := log.String(); !strings.Contains(got, "version="+version+" "+features[version]) {
		t.Errorf("it is not seen as what it is:\n%s", got)
	}
}

// sightings count what a hub was seen to tell of.
type sightings struct {
	mu    sync.Mutex
	count map[string]int
}

func (s *sightings) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[fmt.Sprintf(format, args...)]++
}

// has returns nil if all of it was seen.
func (s *sightings) has(all ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, one := range all {
		if s.count[one] == 0 {
			errs = append(errs, fmt.Errorf("%s was not seen", one))
		}
	}
	return errors.Join(errs...)
}

// twice returns what was seen more than once, but statuses and records of workloads, which are replaced.
func (s *sightings) twice() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := maps.Clone(s.count)
	maps.DeleteFunc(found, func(what string, n int) bool {
		return n == 1 || !strings.HasPrefix(what, "change") && !strings.HasPrefix(what, "reload")
	})
	return found
}

func (s *sightings) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.count)
}
