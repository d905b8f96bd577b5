package projection

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func change(id, user string) reloader.Change {
	return reloader.Change{
		ID:         id,
		Type:       reloader.ChangeUpdated,
		Old:        reloader.Digest{KeyID: "k", Sum: "0a", Keys: reloader.KeySums(map[string]string{"a": "x"})},
		New:        reloader.Digest{KeyID: "k", Sum: "0b", Keys: reloader.KeySums(map[string]string{"a": "y"})},
		Candidates: []reloader.Candidate{{Actor: reloader.Actor{User: user}}},
	}
}

func all[T any](*T) bool { return true }

// listed returns the first workloads.
func listed(t *testing.T, p *Projection, most int) []*reloader.WorkloadRecord {
	t.Helper()
	page, err := p.Workloads("", most, all)
	if err != nil {
		t.Error(err)
	}
	return page.Items
}

// listing returns id:user of every change, newest first.
func listing(t *testing.T, p *Projection) []string {
	t.Helper()
	page, err := p.Changes("", 1000, all)
	must(t, err)
	got := []string{}
	for _, c := range page.Items {
		got = append(got, c.ID+":"+c.Candidates[0].Actor.User)
	}
	return got
}

func TestChangesInAnyOrder(t *testing.T) {
	type step struct {
		seq      uint64
		id, user string
	}
	cases := map[string]struct {
		reason string
		steps  []step
		want   []string
	}{
		"out of order":         {"order is by sequence, not by arrival", []step{{3, "c", "u"}, {1, "a", "u"}, {2, "b", "u"}}, []string{"c:u", "b:u", "a:u"}},
		"attribution":          {"an update keeps its place", []step{{1, "a", "u"}, {2, "b", "u"}, {3, "a", "v"}}, []string{"b:u", "a:v"}},
		"replay":               {"an old version does not come back", []step{{1, "a", "u"}, {2, "b", "u"}, {3, "a", "v"}, {1, "a", "u"}, {2, "b", "u"}}, []string{"b:u", "a:v"}},
		"dropped":              {"the oldest is dropped beyond the limit of 3", []step{{1, "a", "u"}, {2, "b", "u"}, {3, "c", "u"}, {4, "d", "u"}}, []string{"d:u", "c:u", "b:u"}},
		"replay of dropped":    {"what was dropped does not come back", []step{{1, "a", "u"}, {2, "b", "u"}, {3, "c", "u"}, {4, "d", "u"}, {1, "a", "u"}}, []string{"d:u", "c:u", "b:u"}},
		"late and full":        {"a late one that is older than all is the one dropped", []step{{2, "b", "u"}, {3, "c", "u"}, {4, "d", "u"}, {1, "a", "u"}}, []string{"d:u", "c:u", "b:u"}},
		"attribution, dropped": {"more about a dropped one is news", []step{{1, "a", "u"}, {2, "b", "u"}, {3, "c", "u"}, {4, "d", "u"}, {5, "a", "v"}}, []string{"a:v", "d:u", "c:u"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := New(Limits{Changes: 3})
			for _, s := range tc.steps {
				p.AddChange(s.seq, change(s.id, s.user))
			}
			same(t, tc.reason, tc.want, listing(t, p))
			for _, id := range []string{"a", "b", "c", "d"} {
				c, ok := changeNamed(p, id)
				listed := slices.ContainsFunc(tc.want, func(s string) bool { return s[:1] == id })
				if ok != listed || ok && c.ID != id {
					t.Errorf("Change(%q) found: %t, listed: %t", id, ok, listed)
				}
			}
		})
	}
}

func TestReloadOfTheSameID(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	retrying := reloader.Reload{ID: "r", Outcome: reloader.ReasonRetrying}
	reloaded := reloader.Reload{ID: "r", Outcome: reloader.ReasonReloaded, PatchedAt: at}
	again := reloader.Reload{ID: "r", Outcome: reloader.ReasonReloaded, PatchedAt: at.Add(time.Hour)}
	caused := func(by string, decided time.Time, patched time.Time) reloader.Reload {
		cause := reloader.Cause{ChangeID: by, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}}
		return reloader.Reload{ID: "r", Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{cause}, DecidedAt: decided, PatchedAt: patched}
	}
	first, recovered := caused("c1", at, at), caused("c3", at.Add(time.Hour), time.Time{})
	between := reloader.Reload{ID: "s", Outcome: reloader.ReasonReloaded, DecidedAt: at.Add(time.Minute), PatchedAt: at.Add(time.Minute)}
	cases := map[string]struct {
		reason string
		in     []reloader.Reload
		want   int
	}{
		"back, and nobody saw when": {"a roll for another change is another roll", []reloader.Reload{first, between, recovered}, 3},
		"more told of what nobody saw": {
			"it was decided at the same time", []reloader.Reload{first, between, recovered, recovered}, 3,
		},
		"told by whoever patched, and by who came next": {
			"one change leads to one roll", []reloader.Reload{first, caused("c1", at.Add(time.Second), time.Time{})}, 1,
		},
		"a retry that succeeds":   {"one reload, told in two messages", []reloader.Reload{retrying, reloaded}, 1},
		"back to earlier content": {"two patches at different times are two rolls", []reloader.Reload{reloaded, again}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := New(Limits{})
			for i, r := range tc.in {
				p.AddReload(uint64(i+1), r)
			}
			page, err := p.Reloads("", 10, all)
			if err != nil || len(page.Items) != tc.want {
				t.Errorf("%s: %d listed, %v; want %d", tc.reason, len(page.Items), err, tc.want)
			}
			last := tc.in[len(tc.in)-1]
			if got := p.ReloadsNamed("r"); len(got) != 1 || !got[0].PatchedAt.Equal(last.PatchedAt) {
				t.Errorf("the newest is not found by its ID: %+v", got)
			}
		})
	}
}

func TestBoundedAndExpired(t *testing.T) {
	const limit = 100
	p := New(Limits{Changes: limit})
	for seq := uint64(1); seq <= 10*limit; seq++ {
		p.AddChange(seq, change(fmt.Sprint(seq), "u"))
		if n, c := len(p.changes.byKey), cap(p.changes.slots); n > limit+limit/spareShare || c > 2*limit {
			t.Fatalf("after %d: %d known by ID, room for %d in a row", seq, n, c)
		}
	}
	cases := map[string]struct {
		from  string
		err   error
		first uint64
	}{
		"beginning":      {"", nil, 1000},
		"kept":           {placeOf(950, recordKey{id: "950"}), nil, 949},
		"oldest kept":    {placeOf(897, recordKey{id: "897"}), nil, 0},
		"long dropped":   {placeOf(1, recordKey{id: "1"}), ErrExpired, 0},
		"another record": {placeOf(950, recordKey{id: "949"}), ErrExpired, 0},
		"no place":       {"x.7", ErrMalformed, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			page, err := p.Changes(tc.from, 10, all)
			if !errors.Is(err, tc.err) {
				t.Fatalf("got %v, want %v", err, tc.err)
			}
			if tc.first != 0 && (len(page.Items) == 0 || page.Items[0].ID != fmt.Sprint(tc.first)) {
				t.Errorf("does not go on at %d", tc.first)
			}
			if tc.first == 0 && len(page.Items) != 0 {
				t.Errorf("want nothing, got %d", len(page.Items))
			}
		})
	}
}

func TestForgottenStreamBeginsAgain(t *testing.T) {
	p := New(Limits{Changes: 3, Reloads: 3})
	for seq := uint64(1); seq <= 5; seq++ {
		p.AddChange(seq, change(fmt.Sprint("old-", seq), "u"))
		p.AddReload(seq, reloader.Reload{ID: fmt.Sprint("old-", seq)})
	}
	p.PutWorkload(reloader.WorkloadRecord{Cluster: "old"})
	before, err := p.Changes("", 10, all)
	must(t, err)

	p.Reset()
	if _, ok := changeNamed(p, "old-5"); ok || len(listing(t, p)) != 0 {
		t.Error("a change of the lost stream is still there")
	}
	if page, err := p.Reloads("", 10, all); err != nil || len(page.Items) != 0 || len(listed(t, p, 10)) != 0 {
		t.Errorf("a lost record is still there: %d reloads, %v", len(page.Items), err)
	}

	p.AddChange(2, change("new-2", "u"))
	p.AddChange(1, change("old-5", "v"))
	p.PutWorkload(reloader.WorkloadRecord{Cluster: "new"})
	same(t, "the new stream", []string{"new-2:u", "old-5:v"}, listing(t, p))
	if page, err := p.Changes(placeOf(2, recordKey{id: "new-2"}), 10, all); err != nil || len(page.Items) != 1 {
		t.Errorf("a place in the new listing: %d changes, %v", len(page.Items), err)
	}
	if _, err := p.Changes(placeOf(2, recordKey{id: "old-2"}), 10, all); !errors.Is(err, ErrExpired) {
		t.Errorf("a place in the lost listing: %v", err)
	}
	if w := listed(t, p, 10); len(w) != 1 || w[0].Cluster != "new" {
		t.Errorf("workloads: %+v", w)
	}
	if len(before.Items) != 3 || before.Items[0].ID != "old-5" {
		t.Errorf("a page that was read before has changed: %+v", before.Items)
	}
}

func TestWorkloads(t *testing.T) {
	p := New(Limits{})
	key := func(cluster, kind, namespace, name string) WorkloadKey {
		return WorkloadKey{Cluster: cluster, Workload: reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name}}
	}
	put := func(k WorkloadKey, uid string) {
		p.PutWorkload(reloader.WorkloadRecord{Cluster: k.Cluster, Workload: k.Workload, UID: uid})
	}
	order := []WorkloadKey{
		key("z", "Deployment", "a", "z"), key("a", "Deployment", "b", "a"), key("b", "Deployment", "b", "a"),
		key("a", "StatefulSet", "b", "a"), key("a", "DaemonSet", "b", "b"),
	}
	for _, i := range []int{3, 0, 4, 1, 2} {
		put(order[i], "old")
	}
	put(order[2], "new")
	for limit := 1; limit <= 6; limit++ {
		var got []WorkloadKey
		for after, more := "", true; more; more = after != "" {
			page, err := p.Workloads(after, limit, all)
			must(t, err)
			for _, w := range page.Items {
				got = append(got, WorkloadKey{Cluster: w.Cluster, Workload: w.Workload})
			}
			after = page.Next
		}
		if diff := cmp.Diff(order, got); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	if w, ok := p.Workload(order[2]); !ok || w.UID != "new" {
		t.Errorf("the newer record did not replace the older: %+v", w)
	}
	p.DeleteWorkload(order[1].Cluster, order[1].Workload)
	p.DeleteWorkload("none", order[1].Workload)
	if _, ok := p.Workload(order[1]); ok || len(listed(t, p, 10)) != 4 {
		t.Error("a deleted workload is still there, or another is gone")
	}
}

// Readers see whole records in order at any moment, whatever writers do. Worth most under the race detector.
func TestReadersAndWritersTogether(t *testing.T) {
	const writers, each, limit = 4, 2000, 500
	p := New(Limits{Changes: limit, Reloads: limit})
	var writing, reading, resets sync.WaitGroup
	resets.Add(writers)
	done := make(chan struct{})
	for range 4 {
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					readAll(t, p)
				}
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for n := range each {
				seq := uint64(n*writers + w + 1)
				p.AddChange(seq, change(fmt.Sprint(seq), "u"))
				p.AddChange(seq+1, change(fmt.Sprint(1+random.Uint64N(seq)), "v"))
				p.AddReload(seq, reloader.Reload{ID: fmt.Sprint(seq), Causes: []reloader.Cause{{ChangeID: "c"}}})
				ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "n", Name: fmt.Sprint(random.IntN(50))}
				p.PutWorkload(reloader.WorkloadRecord{Cluster: "c", Workload: ref, Edges: []reloader.Edge{{Why: reloader.ReasonAuto}}})
				p.DeleteWorkload("c", reloader.WorkloadRef{Kind: "Deployment", Namespace: "n", Name: fmt.Sprint(random.IntN(50))})
				switch {
				case n < each/4 && random.IntN(500) == 0:
					p.Reset()
				case n == each/4: // what is written from here on stays
					resets.Done()
					resets.Wait()
				}
			}
			p.SetCaughtUp()
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	if page, err := p.Reloads("", 2*limit, all); err != nil || len(page.Items) < limit || len(page.Items) > limit+limit/spareShare || page.Items[0].ID != fmt.Sprint(writers*each) || !p.CaughtUp() {
		t.Errorf("at the end: %d reloads, %v", len(page.Items), err)
	}
}

// readAll follows the pages of each listing and checks their order.
func readAll(t *testing.T, p *Projection) {
	last := uint64(1 << 62)
	for from := ""; ; {
		page, err := p.Reloads(from, 70, all)
		if err != nil && !errors.Is(err, ErrExpired) {
			t.Errorf("reloads: %v", err)
		}
		for _, r := range page.Items {
			var seq uint64
			if _, err := fmt.Sscan(r.ID, &seq); err != nil || seq >= last || len(r.Causes) != 1 {
				t.Errorf("reload %+v after %d", r, last)
			}
			last = seq
		}
		if from = page.Next; from == "" {
			break
		}
	}
	previous := WorkloadKey{}
	for _, w := range listed(t, p, 500) {
		key := WorkloadKey{Cluster: w.Cluster, Workload: w.Workload}
		if key.Compare(previous) <= 0 || len(w.Edges) != 1 {
			t.Errorf("workload %+v after %+v", w, previous)
		}
		previous = key
	}
	if page, err := p.Changes("", 500, all); err == nil && len(page.Items) > 500 {
		t.Errorf("%d changes", len(page.Items))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
