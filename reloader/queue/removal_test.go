package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

func remove(t *testing.T, hub string, r Removal) ([]Step, error) {
	t.Helper()
	return RemoveFromHub(testContext(t), Options{URL: hub, Role: RoleHubAdmin, Logger: quiet()}, r)
}

// brief returns steps as lines.
func brief(steps []Step) (lines []string) {
	for _, s := range steps {
		lines = append(lines, s.Object+": "+s.Action)
	}
	return lines
}

// seenAt follows a hub and keeps what a reader of it knows.
type seenAt struct {
	mu    sync.Mutex
	known map[seenRecord]bool
}

// seenRecord is a record of a cluster in one of three streams.
type seenRecord struct {
	cluster, stream string
	sequence        uint64
}

func watchHub(t *testing.T, hub string) *seenAt {
	t.Helper()
	q := open(t, Options{URL: hub, Role: RoleHubAPI})
	s := &seenAt{known: map[seenRecord]bool{}}
	add := func(cluster, stream string, sequence uint64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known[seenRecord{cluster, stream, sequence}] = true
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		_ = q.Follow(ctx, Followed{
			Change:   func(c reloader.StoredChange) { add(c.Change.Cluster, changesStream, c.Sequence) },
			Reload:   func(sequence uint64, r reloader.Reload) { add(r.Cluster, reloadsStream, sequence) },
			Workload: func(r reloader.WorkloadRecord) { add(r.Cluster, workloadsStream, r.Sequence) },
			Cluster:  func(reloader.ClusterStatus) {}, WorkloadGone: func(string, reloader.WorkloadRef) {}, CaughtUp: func() {},
			ClusterGone: func(gone reloader.ClusterGone) {
				upTo := map[string]uint64{changesStream: gone.Changes, reloadsStream: gone.Reloads, workloadsStream: gone.Workloads}
				s.mu.Lock()
				defer s.mu.Unlock()
				maps.DeleteFunc(s.known, func(r seenRecord, _ bool) bool { return r.cluster == gone.Cluster && r.sequence <= upTo[r.stream] })
			},
		})
	}()
	return s
}

func (s *seenAt) is(want map[string]int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for r := range s.known {
		counts[r.cluster]++
	}
	return maps.Equal(counts, want)
}

// settle gives a hub one record of each kind of a cluster, and what it tells another one.
func settle(t *testing.T, hub, cluster, other string) {
	t.Helper()
	q := newHub(open(t, Options{URL: hub, Role: RoleForward}))
	ctx := testContext(t)
	ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}
	c := reloader.Change{Cluster: cluster, Config: config("a"), Type: reloader.ChangeUpdated, VerifiedAt: epoch}
	c.ID = reloader.ChangeID(c)
	_, err := q.bind(ctx, cluster, "uid-"+cluster)
	_, changeErr := q.q.AppendChange(ctx, c, 0)
	told := reloader.Copy{Owner: cluster, Target: other, Config: config("a"), Change: c, At: epoch}
	subject, subjectErr := copySubject(told)
	want, wantErr := reloader.Encode(reloader.Want{Owner: other, Target: cluster, Configs: []reloader.Config{config("b")}})
	_, publishErr := q.q.js.Publish(ctx, wantPrefix+"."+other+"."+cluster, want)
	err = errors.Join(err, changeErr, subjectErr, wantErr, publishErr, q.putCopy(ctx, subject, told), q.q.PutClusterStatus(ctx, status(cluster, "v1")),
		q.q.AppendReload(ctx, reloader.Reload{ID: "r-1", Cluster: cluster, Workload: ref, DecidedAt: epoch}),
		q.q.PutWorkload(ctx, reloader.WorkloadRecord{Cluster: cluster, Workload: ref}))
	if err != nil {
		t.Fatal(err)
	}
}

// holds returns the subjects of all that a hub has.
func holds(t *testing.T, js jetstream.JetStream) (subjects []string) {
	t.Helper()
	for _, name := range []string{changesStream, reloadsStream, workloadsStream, clustersStream, followsStream} {
		s, err := js.Stream(testContext(t), name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(testContext(t), jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, slices.Sorted(maps.Keys(info.State.Subjects))...)
	}
	return subjects
}

// TestRemoveFromHub removes one of three clusters: all of it goes, and nothing of the others but what they and it told each other. Who
// follows the hub hears of it, and the second time there is nothing to do.
func TestRemoveFromHub(t *testing.T) {
	hub := hubServer(t, t.TempDir(), -1).ClientURL()
	settle(t, hub, "blue", "green")
	settle(t, hub, "green", "blue")
	settle(t, hub, "red", "green")
	seen := watchHub(t, hub)
	eventually(t, "all three", func() bool { return seen.is(map[string]int{"blue": 3, "green": 3, "red": 3}) })
	var has Holdings
	steps, err := remove(t, hub, Removal{Cluster: "blue", Sure: func(h Holdings) error { has = h; return nil }})
	want := []string{
		"changes: 1 removed", "reloads: 1 removed", "records of workloads: 1 removed",
		"copies of configs and what asks for them: 4 removed", "name blue: freed",
	}
	if diff := cmp.Diff(want, brief(steps)); diff != "" || err != nil {
		t.Errorf("removing did: %v\n%s", err, diff)
	}
	if has.UID != "uid-blue" || has.Told == 0 || has.Silent > waitTime || has.Messages["changes"] != 1 || has.Messages[HeldKinds[3]] != 4 {
		t.Errorf("who asked whether we are sure told of %+v", has)
	}
	eventually(t, "two", func() bool { return seen.is(map[string]int{"green": 3, "red": 3}) })
	admin := open(t, Options{URL: hub, Role: RoleHubAdmin})
	var left []string
	for _, subject := range holds(t, admin.js) {
		if strings.Contains(subject, ".blue") && subject != statusSubject("blue") && subject != removedSubject("blue") {
			left = append(left, subject)
		}
	}
	if n := len(holds(t, admin.js)); len(left) > 0 || n != 5+7+2 {
		t.Errorf("%d subjects are left, of blue %q: %q", n, left, holds(t, admin.js))
	}
	if steps, err := remove(t, hub, Removal{Cluster: "blue", Silence: time.Hour}); err != nil || len(steps) != 0 {
		t.Errorf("the second time: %v, %v", brief(steps), err)
	}
}

func TestRemoveFromHubRefuses(t *testing.T) {
	hub := hubServer(t, t.TempDir(), -1).ClientURL()
	settle(t, hub, "blue", "green")
	unsure := errors.New("not sure")
	for name, tc := range map[string]struct {
		o    Options
		r    Removal
		want error
	}{
		"a name that is a filter": {Options{URL: hub}, Removal{Cluster: "*"}, reloader.ErrInvalidName},
		"somebody unsure":         {Options{URL: hub}, Removal{Cluster: "blue", Sure: func(Holdings) error { return unsure }}, unsure},
		"what is no hub":          {Options{URL: external(t, t.TempDir(), -1, nil).ClientURL()}, Removal{Cluster: "blue"}, ErrNotSetUp},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Role, tc.o.Logger = RoleHubAdmin, quiet()
			if steps, err := RemoveFromHub(testContext(t), tc.o, tc.r); !errors.Is(err, tc.want) || len(steps) > 0 {
				t.Errorf("got %v, %v", brief(steps), err)
			}
		})
	}
	if _, err := RemoveFromHub(testContext(t), Options{StoreDir: t.TempDir()}, Removal{Cluster: "blue"}); err == nil {
		t.Error("an embedded NATS is no hub")
	}
	_, err := remove(t, hub, Removal{Cluster: "blue", Silence: 2 * time.Second, Sure: func(Holdings) error {
		settle := open(t, Options{URL: hub, Role: RoleForward})
		return settle.PutClusterStatus(testContext(t), status("blue", "v2"))
	}})
	if !errors.Is(err, ErrAlive) || !strings.Contains(err.Error(), "--hub-url") {
		t.Errorf("a cluster that is alive: %v", err)
	}
	// It was silent for long enough before, and whoever is asked takes a while.
	_, err = remove(t, hub, Removal{Cluster: "blue", Silence: time.Nanosecond, Sure: func(Holdings) error {
		settle := open(t, Options{URL: hub, Role: RoleForward})
		return settle.PutClusterStatus(testContext(t), status("blue", "v3"))
	}})
	if !errors.Is(err, ErrAlive) {
		t.Errorf("a cluster that came back meanwhile: %v", err)
	}
	if has := holds(t, open(t, Options{URL: hub, Role: RoleHubAdmin}).js); len(has) != 7 {
		t.Errorf("something was removed: %q", has)
	}
}

// TestRemovedClusterThatIsAliveComesBackWhole: it notices, takes its name again, and brings all that it has, once and in order.
func TestRemovedClusterThatIsAliveComesBackWhole(t *testing.T) {
	hub := hubServer(t, t.TempDir(), -1).ClientURL()
	q := open(t, Options{})
	var log text
	forwarding(t, q, hub, "uid-1", &log)
	last := edit(t, q, "a", 0, 1)
	edit(t, q, "a", last, 2)
	roll(t, q, 1)
	arrives(t, q, hub)
	if _, err := remove(t, hub, Removal{Cluster: "blue"}); err != nil {
		t.Fatal(err)
	}
	edit(t, q, "b", 0, 1)
	arrives(t, q, hub)
	if !strings.Contains(log.String(), "has forgotten this cluster") {
		t.Errorf("it does not say so: %s", log.String())
	}
	if gaps := hubSight(t, hub)().Gaps; len(gaps) > 0 {
		t.Errorf("gaps where nothing is missing: %+v", gaps)
	}
	other := open(t, Options{})
	edit(t, other, "c", 0, 1)
	forwarding(t, other, hub, "uid-2", &log)
	eventually(t, "the name to be taken", func() bool { return strings.Contains(log.String(), "the hub refuses this cluster") })
}

// TestRemovedClusterThatWasCutOffComesBackWhole: it was removed while it could not reach the hub, and goes on with a change of an object
// whose earlier ones were removed.
func TestRemovedClusterThatWasCutOffComesBackWhole(t *testing.T) {
	dir := t.TempDir()
	first := hubServer(t, dir, -1)
	hub := first.ClientURL()
	q := open(t, Options{})
	var log text
	forwarding(t, q, hub, "uid-1", &log)
	last := edit(t, q, "a", 0, 1)
	arrives(t, q, hub)
	stopServer(first)
	aside := hubServer(t, dir, -1)
	if _, err := remove(t, aside.ClientURL(), Removal{Cluster: "blue"}); err != nil {
		t.Fatal(err)
	}
	stopServer(aside)
	hubServer(t, dir, hubPort(t, hub))
	eventually(t, "the connection to come back", func() bool { return strings.Contains(log.String(), "connected to NATS again") })
	edit(t, q, "a", last, 2)
	arrives(t, q, hub)
}

// TestRemovedNameIsFree: another cluster takes it, and gets its own place in the view of who follows the hub all the time.
func TestRemovedNameIsFree(t *testing.T) {
	hub := hubServer(t, t.TempDir(), -1).ClientURL()
	settle(t, hub, "blue", "green")
	seen := watchHub(t, hub)
	eventually(t, "the first", func() bool { return seen.is(map[string]int{"blue": 3}) })
	if _, err := remove(t, hub, Removal{Cluster: "blue"}); err != nil {
		t.Fatal(err)
	}
	q := open(t, Options{})
	edit(t, q, "a", 0, 1)
	edit(t, q, "b", 0, 1)
	forwarding(t, q, hub, "uid-2", nil)
	arrives(t, q, hub)
	eventually(t, "the second alone", func() bool { return seen.is(map[string]int{"blue": 2}) })
}

// TestWhatWasRemovedIsSkipped: what is on its way while a cluster is removed is not handed over after that was told.
func TestWhatWasRemovedIsSkipped(t *testing.T) {
	r := removals{}
	r.add("blue", extents{changesStream: 10}, epoch)
	of := func(stream, prefix string, created time.Time) *followedStream {
		return &followedStream{name: stream, filter: prefix + ".>", created: created}
	}
	before, after := epoch.Add(-time.Hour), epoch.Add(time.Hour)
	for name, tc := range map[string]struct {
		s        *followedStream
		subject  string
		sequence uint64
		want     bool
	}{
		"before":           {of(changesStream, changePrefix, before), "reroll.change.blue.configmap.shop.a", 10, true},
		"after":            {of(changesStream, changePrefix, before), "reroll.change.blue.configmap.shop.a", 11, false},
		"another cluster":  {of(changesStream, changePrefix, before), "reroll.change.blue-2.configmap.shop.a", 10, false},
		"another stream":   {of(reloadsStream, reloadPrefix, before), "reroll.reload.blue.deployment.shop.a", 10, false},
		"made after that":  {of(changesStream, changePrefix, after), "reroll.change.blue.configmap.shop.a", 10, false},
		"what is no place": {of(changesStream, changePrefix, before), "reroll", 10, false},
	} {
		if got := r.cover(tc.s, tc.subject, tc.sequence); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestNewAccountIsToldToBeReloadedTwice: a server does not listen to the account of a cluster that came with a reload, as one without JetStream
// does not.
func TestNewAccountIsToldToBeReloadedTwice(t *testing.T) {
	deaf := external(t, t.TempDir(), -1, func(o *server.Options) { o.JetStream = false })
	_, err := Open(testContext(t), Options{URL: deaf.ClientURL(), Role: RoleForward, Logger: quiet()})
	if !errors.Is(err, ErrNotSetUp) || !strings.Contains(err.Error(), "reloaded twice") {
		t.Errorf("got %v", err)
	}
}

// FuzzExtents reads up to where records were removed, as a header of a message tells.
func FuzzExtents(f *testing.F) {
	f.Add("CHANGES=12 RELOADS=18446744073709551615")
	f.Add("=1 a= a=1 a=2")
	f.Add(strings.Repeat("a=1 ", 100))
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseExtents(text)
		if err != nil {
			return
		}
		if again, err := parseExtents(e.String()); err != nil || !maps.Equal(e, again) || len(e) > maxExtents {
			t.Errorf("%q is %v, which is read as %v: %v", text, e, again, err)
		}
	})
}
