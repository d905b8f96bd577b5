package projection

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// changeNamed returns the only change of an ID.
func changeNamed(p *Projection, id string) (*reloader.Change, bool) {
	named := p.ChangesNamed(id)
	if len(named) != 1 {
		return nil, false
	}
	return named[0], true
}

// clustersOf counts the listed changes and reloads of each cluster.
func clustersOf(t *testing.T, p *Projection) map[string]int {
	t.Helper()
	counts := map[string]int{}
	changes, err := p.Changes("", 1000, all)
	must(t, err)
	reloads, err := p.Reloads("", 1000, all)
	must(t, err)
	for _, c := range changes.Items {
		counts["changes of "+c.Cluster]++
	}
	for _, r := range reloads.Items {
		counts["reloads of "+r.Cluster]++
	}
	return counts
}

// TestOneClusterDisplacesNoOther: a cluster that sends ten times the limit loses its own oldest records, and the others keep theirs.
func TestOneClusterDisplacesNoOther(t *testing.T) {
	const limit = 100
	p := New(Limits{Changes: limit, Reloads: limit})
	seq := uint64(0)
	send := func(cluster string, n int) {
		for range n {
			seq++
			c := changeOf(settings, fmt.Sprint("c-", seq), "a", fmt.Sprint(seq))
			c.Cluster = cluster
			p.AddChange(seq, c)
			p.AddReload(seq, reloader.Reload{ID: fmt.Sprint("r-", seq), Cluster: cluster, DecidedAt: time.Unix(int64(seq), 0)})
		}
	}
	send("blue", 20)
	send("green", 30)
	send("loud", 10*limit)
	counts := clustersOf(t, p)
	for what, want := range map[string]int{"changes of blue": 20, "changes of green": 30, "reloads of blue": 20, "reloads of green": 30} {
		if counts[what] != want {
			t.Errorf("%s: %d are kept, want %d", what, counts[what], want)
		}
	}
	if n := counts["changes of loud"]; n < limit-50 || n > limit-50+limit/spareShare {
		t.Errorf("%d changes of the loud cluster are kept, want what the others leave of %d", n, limit)
	}
	newest, err := p.Changes("", 1, all)
	if err != nil || newest.Items[0].ID != fmt.Sprint("c-", seq) {
		t.Errorf("the newest is not kept: %v", err)
	}
	send("blue", 10*limit)
	counts = clustersOf(t, p)
	if blue, loud := counts["reloads of blue"], counts["reloads of loud"]; counts["reloads of green"] != 30 || blue < loud || loud < limit/4 {
		t.Errorf("two clusters that both have more than their part: %v", counts)
	}
}

// TestOneClusterRewritesNoOther: a cluster that uses the IDs of another one, with a later record, does not change the records of that one.
func TestOneClusterRewritesNoOther(t *testing.T) {
	p := New(Limits{})
	truth := changeOf(settings, "c-1", "a", "b")
	truth.Candidates = []reloader.Candidate{{Actor: reloader.Actor{User: "alice"}}}
	p.AddChange(1, truth)
	p.AddReload(1, caused("r-1", 1, "c-1"))

	lie := truth
	lie.Cluster, lie.Candidates = "red", []reloader.Candidate{{Actor: reloader.Actor{User: "bob"}}}
	p.AddChange(2, lie)
	forged := caused("r-1", 1, "c-1")
	forged.Cluster, forged.Message = "red", "nothing happened"
	p.AddReload(2, forged)

	changes, reloads := p.ChangesNamed("c-1"), p.ReloadsNamed("r-1")
	if len(changes) != 2 || changes[0].Cluster != "blue" || changes[0].Candidates[0].Actor.User != "alice" {
		t.Errorf("changes: %+v", changes)
	}
	if len(reloads) != 2 || reloads[0].Cluster != "blue" || reloads[0].Message != "" {
		t.Errorf("reloads: %+v", reloads)
	}
	if of := p.ReloadsOf(&truth); len(of) != 1 || of[0].Cluster != "blue" {
		t.Errorf("the change of one cluster has the reloads %+v", of)
	}
	follower := caused("r-2", 2, "c-1")
	follower.Cluster, follower.Causes[0].Config.Cluster = "green", "blue"
	p.AddReload(3, follower)
	if of := p.ReloadsOf(&truth); len(of) != 2 || of[1].Cluster != "green" {
		t.Errorf("with that of a follower it has the reloads %+v", of)
	}
}

// TestFollowersDoNotSpeakForOwners: what a cluster says of a config of another one that it follows is shown until the owner says something,
// and not after that.
func TestFollowersDoNotSpeakForOwners(t *testing.T) {
	p := New(Limits{})
	followed := settings
	followed.Cluster = "blue"
	says := func(seq uint64, cluster, id string) {
		c := changeOf(settings, id, "a", id)
		if c.Cluster = cluster; cluster != "blue" {
			c.Config = followed
		}
		p.AddChange(seq, c)
	}
	latest := func() string {
		state, ok := p.Config(ConfigKey{Cluster: "blue", Config: settings})
		if !ok || state.Latest == nil {
			return ""
		}
		return state.Latest.ID
	}
	says(1, "red", "c-red")
	if got := latest(); got != "c-red" {
		t.Errorf("of an owner that is not here there is %q", got)
	}
	says(2, "blue", "c-blue")
	says(3, "red", "c-forged")
	if got := latest(); got != "c-blue" {
		t.Errorf("the newest change of the owner is %q", got)
	}
}

// TestFiguresAreThoseOfWhatIsKept, whatever the order in which records come, are updated and make room.
func TestFiguresAreThoseOfWhatIsKept(t *testing.T) {
	p := New(Limits{Changes: 20, Reloads: 20})
	for i := range uint64(100) {
		seq := 2 + i ^ 1
		c := changeOf(settings, fmt.Sprint("c-", seq), "a", fmt.Sprint(seq))
		r := reloader.Reload{ID: fmt.Sprint("r-", seq), Cluster: "blue", Outcome: reloader.ReasonRefused, DecidedAt: time.Unix(int64(seq), 0)}
		c.VerifiedAt = r.DecidedAt
		p.AddChange(seq, c)
		p.AddReload(seq, r)
		r.Outcome = reloader.ReasonReloaded
		p.AddReload(seq+1000, r)
	}
	changes, err := p.Changes("", 100, all)
	must(t, err)
	reloads, err := p.Reloads("", 100, all)
	must(t, err)
	var want []Figure
	for _, c := range changes.Items {
		want = slices.Insert(want, 0, figureOfChange(c))
	}
	for _, r := range reloads.Items {
		want = slices.Insert(want, len(changes.Items), figureOfReload(r))
	}
	if got := p.AppendFigures(nil, 0, 2000); !slices.Equal(got, want) || len(want) < 40 || reloader.Outcomes[got[len(got)-1].Outcome] != reloader.ReasonReloaded {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
