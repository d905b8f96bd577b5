package queue

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// setup runs Setup and returns what it did to each object that it did not leave alone.
func setup(t *testing.T, o Options, l Layout, dryRun bool) (map[string]string, error) {
	t.Helper()
	o.Logger = quiet()
	steps, err := Setup(testContext(t), o, l, dryRun)
	done := map[string]string{}
	for _, step := range steps {
		if step.Action != actionNone {
			done[step.Object] = step.Action
		}
	}
	return done, err
}

func TestSetup(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	o, l := Options{URL: s.ClientURL(), MaxStore: testStore}, Layout{Clusters: []string{"blue"}}
	all := map[string]string{
		"stream HINTS": actionMade, "stream CHANGES": actionMade, "stream RELOADS": actionMade, "stream KV_reroll_workloads": actionMade,
		"stream KV_reroll_clusters": actionMade, "consumer dispatch-blue of stream HINTS": actionMade,
	}
	larger, smaller := o, o
	larger.HintsMaxBytes, smaller.HintsMaxBytes = 128<<20, 1<<20
	for _, step := range []struct {
		name    string
		options Options
		layout  Layout
		dryRun  bool
		want    map[string]string
		wrong   error
	}{
		{"a dry run of all", o, l, true, all, nil},
		{"all", o, l, false, all, nil},
		{"again", o, l, false, map[string]string{}, nil},
		{"another cluster", o, Layout{Clusters: []string{"blue", "green"}}, false, map[string]string{"consumer dispatch-green of stream HINTS": actionMade}, nil},
		{"a dry run of more room", larger, l, true, map[string]string{"stream HINTS": actionUpdated}, nil},
		{"more room", larger, l, false, map[string]string{"stream HINTS": actionUpdated}, nil},
		{"less room", smaller, l, false, map[string]string{"stream HINTS": actionRefused}, ErrShrink},
		{"as it was before that", larger, l, false, map[string]string{}, nil},
	} {
		got, err := setup(t, step.options, step.layout, step.dryRun)
		if diff := cmp.Diff(step.want, got); diff != "" || !errors.Is(err, step.wrong) {
			t.Errorf("%s (-want +got): error %v\n%s", step.name, err, diff)
		}
	}
	q := open(t, Options{URL: s.ClientURL(), HintsMaxBytes: 1 << 20})
	if got := q.config(hintsStream).MaxBytes; got != 128<<20 {
		t.Errorf("a start with other settings has changed the room for hints to %d", got)
	}
}

func TestSetupOfAHubHasNoHints(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	got, err := setup(t, Options{URL: s.ClientURL(), MaxStore: testStore}, Layout{Hub: true}, false)
	if err != nil || len(got) != 5 || got["stream HINTS"] != "" || got["stream FOLLOWS"] == "" {
		t.Errorf("made %v, error %v", got, err)
	}
	open(t, Options{URL: s.ClientURL(), Role: RoleHubAPI})
}

// TestUserWhoMayMakeNothing uses what is there, and says what is missing for as long as it is.
func TestUserWhoMayMakeNothing(t *testing.T) {
	admin, user := asUser(t, RoleServe)
	user.MaxStore = testStore
	if _, err := Open(testContext(t), user); !errors.Is(err, ErrNotSetUp) || !strings.Contains(err.Error(), "stream HINTS") {
		t.Errorf("without streams: %v", err)
	}
	if _, err := setup(t, admin, Layout{}, false); err != nil {
		t.Fatal(err)
	}
	user.HintsMaxBytes = 2 * testStore // a limit that it may not set
	q := open(t, user)
	if err := q.Consuming(); err != nil {
		t.Errorf("nobody has asked for hints, and still: %v", err)
	}
	err := q.ConsumeHints(testContext(t), "blue", func(Delivery) {})
	if !errors.Is(err, ErrNotSetUp) || !strings.Contains(err.Error(), "--cluster=blue") || !errors.Is(q.Consuming(), ErrNotSetUp) {
		t.Errorf("without a consumer: %v, and then %v; want ErrNotSetUp twice", err, q.Consuming())
	}
	blue := Layout{Clusters: []string{"blue"}}
	if _, err := setup(t, admin, blue, false); err != nil {
		t.Fatal(err)
	}
	c := consume(t, q, acknowledge)
	eventually(t, "hints arrive", func() bool { return q.Consuming() == nil })
	if err := open(t, admin).js.DeleteConsumer(testContext(t), hintsStream, consumerName("blue")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is told that the consumer was deleted", func() bool { return errors.Is(q.Consuming(), ErrNotSetUp) })
	if _, err := setup(t, admin, blue, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "hints arrive again", func() bool { return q.Consuming() == nil })
	c.end(t)
}

func TestUnfitStreamsAreNamed(t *testing.T) {
	want := wantedStreams(Options{HintsMaxBytes: 5}, unlimitedAPILevel)[0]
	for name, tc := range map[string]struct {
		change func(*jetstream.StreamConfig)
		want   string
	}{
		"as wanted":           {func(*jetstream.StreamConfig) {}, ""},
		"larger":              {func(s *jetstream.StreamConfig) { s.MaxBytes, s.MaxMsgsPerSubject, s.Replicas = 7, 99, 3 }, ""},
		"more subjects":       {func(s *jetstream.StreamConfig) { s.Subjects = []string{"reroll.>"} }, ""},
		"other subjects":      {func(s *jetstream.StreamConfig) { s.Subjects = []string{"reroll.hint.c1.>"} }, "does not take reroll.hint.>"},
		"a work queue":        {func(s *jetstream.StreamConfig) { s.Retention = jetstream.WorkQueuePolicy }, "retention"},
		"that drops the old":  {func(s *jetstream.StreamConfig) { s.Discard = jetstream.DiscardOld }, "discards"},
		"in memory":           {func(s *jetstream.StreamConfig) { s.Storage = jetstream.MemoryStorage }, "storage"},
		"without direct gets": {func(s *jetstream.StreamConfig) { s.AllowDirect = false }, "direct"},
		"without purging":     {func(s *jetstream.StreamConfig) { s.DenyPurge = true }, "purged"},
		"without answers":     {func(s *jetstream.StreamConfig) { s.NoAck = true }, "acknowledge"},
		"not on disk":         {func(s *jetstream.StreamConfig) { s.PersistMode = jetstream.AsyncPersistMode }, "before it has stored"},
		"sealed":              {func(s *jetstream.StreamConfig) { s.Sealed = true }, "sealed"},
	} {
		t.Run(name, func(t *testing.T) {
			is := want
			tc.change(&is)
			err := unfit(is, want)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v; want %q", err, tc.want)
			}
		})
	}
}

func TestShrinks(t *testing.T) {
	is := jetstream.StreamConfig{MaxBytes: 100, MaxMsgsPerSubject: 16, MaxAge: 10, Replicas: 3}
	for name, tc := range map[string]struct {
		change func(*jetstream.StreamConfig)
		want   int
	}{
		"the same": {func(*jetstream.StreamConfig) {}, 0},
		"more of all": {func(s *jetstream.StreamConfig) {
			s.MaxBytes, s.MaxMsgsPerSubject, s.MaxAge, s.Replicas = 200, 17, 11, 5
		}, 0},
		"no limits":          {func(s *jetstream.StreamConfig) { s.MaxBytes, s.MaxMsgsPerSubject, s.MaxAge = -1, -1, 0 }, 0},
		"no word on servers": {func(s *jetstream.StreamConfig) { s.Replicas = 0 }, 0},
		"less of all":        {func(s *jetstream.StreamConfig) { s.MaxBytes, s.MaxMsgsPerSubject, s.MaxAge, s.Replicas = 99, 1, 9, 1 }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			want := is
			tc.change(&want)
			if got := shrinks(is, want); len(got) != tc.want {
				t.Errorf("got %q; want %d limits", got, tc.want)
			}
		})
	}
	unlimited := jetstream.StreamConfig{MaxBytes: -1}
	if got := shrinks(unlimited, jetstream.StreamConfig{MaxBytes: 5}); len(got) != 1 {
		t.Errorf("a limit where there was none: %q", got)
	}
}

// TestHubAllowsNoRollUps: a message that is rolled up could drop the records of all clusters. Setup takes that right away again, and who
// opens the streams without knowing that it is a hub does not give it.
func TestHubAllowsNoRollUps(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	o, hub := Options{URL: s.ClientURL(), MaxStore: testStore}, Layout{Hub: true}
	allowed := func() (names []string) {
		t.Helper()
		js := open(t, Options{URL: s.ClientURL(), Role: RoleHubAdmin}).js
		for _, name := range []string{changesStream, reloadsStream, workloadsStream, clustersStream, followsStream} {
			stream, err := js.Stream(testContext(t), name)
			if err != nil {
				t.Fatal(err)
			}
			if stream.CachedInfo().Config.AllowRollup {
				names = append(names, name)
			}
		}
		return names
	}
	for range 2 {
		if _, err := Setup(testContext(t), withLogger(o), hub, false); err != nil {
			t.Fatal(err)
		}
		open(t, Options{URL: s.ClientURL(), Role: RoleAPI})
		if names := allowed(); len(names) > 0 {
			t.Fatalf("%v allow roll-ups", names)
		}
		js := open(t, Options{URL: s.ClientURL(), Role: RoleHubAdmin}).js
		stream, err := js.Stream(testContext(t), workloadsStream)
		if err != nil {
			t.Fatal(err)
		}
		earlier := stream.CachedInfo().Config
		earlier.AllowRollup = true // as an earlier version has made it
		if _, err := js.UpdateStream(testContext(t), earlier); err != nil {
			t.Fatal(err)
		}
	}
}

func withLogger(o Options) Options {
	o.Logger = quiet()
	return o
}
