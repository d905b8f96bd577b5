package projection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

var (
	settings = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "settings"}
	password = reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "password"}
	cart     = WorkloadKey{Cluster: "blue", Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}}
)

func dependent(key WorkloadKey, configs ...reloader.Config) reloader.WorkloadRecord {
	r := reloader.WorkloadRecord{Cluster: key.Cluster, Workload: key.Workload}
	for _, c := range configs {
		r.Edges = append(r.Edges, reloader.Edge{Config: c, Why: reloader.ReasonAuto})
	}
	return r
}

func changeOf(c reloader.Config, id string, from, to string) reloader.Change {
	return reloader.Change{
		ID: id, Cluster: "blue", Config: c, Type: reloader.ChangeUpdated,
		Old: reloader.Digest{KeyID: "k", Sum: from}, New: reloader.Digest{KeyID: "k", Sum: to}, VerifiedAt: time.Unix(1000, 0),
	}
}

// configLines lists name, newest change and number of dependents of every config.
func configLines(p *Projection) []string {
	lines := []string{}
	for _, key := range slices.SortedFunc(maps.Keys(p.configs), func(a, b ConfigKey) int {
		return strings.Compare(a.Config.Name+" "+a.Cluster, b.Config.Name+" "+b.Cluster)
	}) {
		c, _ := p.Config(key)
		latest := "-"
		if c.Latest != nil {
			latest = c.Latest.ID
		}
		lines = append(lines, fmt.Sprint(c.Key.Config.Name, " ", latest, " ", len(c.Dependents)))
	}
	return lines
}

func TestConfigsFollowChangesAndWorkloads(t *testing.T) {
	p := New(Limits{Changes: 2})
	expect := func(what string, want ...string) {
		t.Helper()
		same(t, what, append([]string{}, want...), configLines(p))
	}
	p.PutWorkload(dependent(cart, settings, password))
	expect("asked for", "password - 1", "settings - 1")
	p.AddChange(2, changeOf(settings, "c-2", "a", "b"))
	p.AddChange(1, changeOf(settings, "c-1", "0", "a"))
	expect("an older change comes later", "password - 1", "settings c-2 1")
	for seq := uint64(3); seq < 9; seq++ {
		p.AddChange(seq, changeOf(password, fmt.Sprint("c-", seq), "a", "b"))
	}
	expect("the listing has dropped it, the state has not", "password c-8 1", "settings c-2 1")
	p.PutWorkload(dependent(cart, settings))
	expect("no longer asked for, but on record", "password c-8 0", "settings c-2 1")
	p.AddChange(9, changeOf(settings, "c-9", "b", "c"))
	p.AddChange(10, changeOf(settings, "c-10", "c", "d"))
	expect("neither asked for nor on record", "settings c-10 1")
	p.Reset()
	expect("all is lost", []string{}...)
	p.PutWorkload(dependent(cart, settings))
	expect("asked for again", "settings - 1")
	p.DeleteWorkload("blue", cart.Workload)
	expect("nobody asks", []string{}...)
}

func caused(id string, at int64, changes ...string) reloader.Reload {
	r := reloader.Reload{ID: id, Cluster: "blue", PatchedAt: time.Unix(at, 0)}
	for _, c := range changes {
		r.Causes = append(r.Causes, reloader.Cause{ChangeID: c})
	}
	return r
}

// TestFollowersDependOnWhatIsTheirOwners: a config that a workload of another cluster follows is one config, which has both as dependents.
func TestFollowersDependOnWhatIsTheirOwners(t *testing.T) {
	followed := settings
	followed.Cluster = "blue"
	green := WorkloadKey{Cluster: "green", Workload: cart.Workload}
	p := New(Limits{})
	p.AddChange(1, changeOf(settings, "c-1", "a", "b"))
	p.PutWorkload(dependent(cart, settings))
	p.PutWorkload(dependent(green, followed, settings))
	of := func(cluster string) []string {
		c, ok := p.Config(ConfigKey{Cluster: cluster, Config: settings})
		if !ok {
			return nil
		}
		var names []string
		for _, d := range c.Dependents {
			names = append(names, d.Cluster)
		}
		return names
	}
	same(t, "of the owner's", []string{"blue", "green"}, of("blue"))
	same(t, "of both", []string{"settings c-1 2", "settings - 1"}, configLines(p))
	if !p.HasCluster("green") || p.HasCluster("red") {
		t.Error("which clusters are known")
	}
	p.PutWorkload(dependent(green, settings)) // it follows no more
	same(t, "after it stopped", []string{"blue"}, of("blue"))
}

func TestClusters(t *testing.T) {
	p := New(Limits{})
	baseline := changeOf(settings, "c-0", "", "a")
	baseline.Type = reloader.ChangeBaseline
	p.AddChange(1, baseline)
	if got := p.Clusters(); len(got) != 0 {
		t.Errorf("a baseline is no sign of life: %+v", got)
	}
	p.AddChange(3, changeOf(settings, "c-3", "b", "c"))
	p.AddChange(2, changeOf(settings, "c-2", "a", "b"))
	p.AddReload(1, caused("r-1", 1, "c-2"))
	p.PutWorkload(dependent(cart, settings))
	p.PutWorkload(dependent(cart, settings))
	p.PutCluster(reloader.ClusterStatus{Cluster: "blue", Version: "v1"})
	p.PutCluster(reloader.ClusterStatus{Cluster: "amber", Version: "v2"})
	list := p.Clusters()
	if len(list) != 2 || list[0].Name != "amber" || list[1].Status.Version != "v1" {
		t.Fatalf("got %+v", list)
	}
	if blue, ok := p.Cluster("blue"); !ok || blue.LastChange.ID != "c-3" || blue.LastReload.ID != "r-1" || blue.Workloads != 1 {
		t.Errorf("got %+v", blue)
	}
	p.Reset()
	if len(p.Clusters()) != 0 {
		t.Errorf("left: %+v", p.Clusters())
	}
	p.PutPosition("blue", reloader.Position{Of: "HISTORY", Behind: 3})
	p.PutPosition("blue", reloader.Position{Of: "STATE", Behind: 4})
	if blue, ok := p.Cluster("blue"); !ok || blue.Positions[0].Behind != 3 || blue.Positions[1].Behind != 4 {
		t.Errorf("got %+v", blue)
	}
}

// TestWatchTellsWhichListingsHaveChanged, to whom that concerns, once for all that came in the meantime.
func TestWatchTellsWhichListingsHaveChanged(t *testing.T) {
	p := New(Limits{})
	everything := p.Watch(func(Topic, string, string) bool { return true })
	shop := p.Watch(func(topic Topic, _, namespace string) bool { return topic != TopicClusters && namespace == "shop" })
	defer shop.End()
	expect := func(what string, w *Watch, want ...Topic) {
		t.Helper()
		news := false
		select {
		case <-w.News():
			news = true
		default:
		}
		if got := w.Take(); !slices.Equal(got, want) || news != (len(want) > 0) {
			t.Errorf("%s: %v (news: %t), want %v", what, got, news, want)
		}
	}
	p.AddChange(1, changeOf(settings, "c-1", "a", "b"))
	expect("what was stored before is not new", everything)
	p.SetCaughtUp()
	expect("all is read", everything, TopicChanges, TopicClusters, TopicReloads, TopicWorkloads)
	expect("also for one namespace", shop, TopicChanges, TopicClusters, TopicReloads, TopicWorkloads)
	p.AddChange(1, changeOf(settings, "c-1", "a", "b"))
	expect("a replay", everything)
	p.AddChange(2, changeOf(settings, "c-2", "b", "c"))
	p.AddChange(3, changeOf(settings, "c-3", "c", "d"))
	p.AddReload(1, caused("r-1", 1, "c-2")) // of a workload in no namespace
	p.PutCluster(reloader.ClusterStatus{Cluster: "blue"})
	expect("once for all", everything, TopicChanges, TopicClusters, TopicReloads)
	expect("less for one namespace", shop, TopicChanges)
	p.PutWorkload(dependent(cart, settings))
	p.DeleteWorkload("blue", cart.Workload)
	p.DeleteWorkload("blue", cart.Workload)
	expect("a workload that came and went", shop, TopicWorkloads)
	everything.End()
	p.Reset()
	expect("all is lost", shop, TopicChanges, TopicClusters, TopicReloads, TopicWorkloads)
	expect("after the end", everything, TopicWorkloads)
}
