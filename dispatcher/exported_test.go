package dispatcher_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// ownFlags are those of the cluster of the test.
func ownFlags() reloader.Config {
	own := flags
	own.Namespace = scenario.DefaultNamespace
	return own
}

func followersOf(names string) []byte {
	return []byte(`{"metadata":{"annotations":{"reroll.dev/followers":"` + names + `"}}}`)
}

// TestConfigThatNobodyMayFollowCostsNothing: whoever asks for it, its content is not read, and nothing of it is recorded or told, until its
// annotation names somebody who asks.
func TestConfigThatNobodyMayFollowCostsNothing(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		own := ownFlags()
		p := w.start()
		ask := func() {
			p.Wanted(reloader.Want{Owner: clusterName, Target: "c2", Configs: []reloader.Config{own}})
			w.pass(2 * time.Minute)
		}
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: c3}}, data: {a: "1"}}`)))
		ask()
		w.edit(bob, "ConfigMap/flags", "2")
		ask()
		if _, types := w.store.changesOf(own); len(types) > 0 || w.counted("get") > 0 {
			t.Errorf("of a config that nobody may follow these are recorded: %v", types)
		}
		if refusal := sent.last("c2"); refusal.Refused == "" || refusal.Change.ID != "" {
			t.Errorf("c2 was told %+v", refusal)
		}
		w.must(w.patch(bob, "ConfigMap/flags", types.MergePatchType, followersOf("c2, c3")))
		w.pass(quiet)
		if told := sent.last("c2"); told.Refused != "" || told.Change.New.IsZero() {
			t.Errorf("c2 is named now, and was told %+v", told)
		}
		w.must(w.patch(bob, "ConfigMap/flags", types.MergePatchType, followersOf("c3")))
		w.pass(quiet)
		before, _ := w.store.changesOf(own)
		w.edit(bob, "ConfigMap/flags", "3")
		ask()
		if after, _ := w.store.changesOf(own); after.ID != before.ID || sent.last("c2").Refused == "" {
			t.Errorf("c2 is named no more, and %+v is recorded; it was told %+v", after, sent.last("c2"))
		}
	})
}

// TestOwnerAnswersWhoFollowsAnew: what it tells has the number that the target gave, and is told again when that gives another.
func TestOwnerAnswersWhoFollowsAnew(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: c2}}, data: {a: "1"}}`)))
		p := w.start()
		for _, number := range []uint64{7, 8} {
			p.Wanted(reloader.Want{Owner: clusterName, Target: "c2", Configs: []reloader.Config{ownFlags()}, Numbers: []uint64{number}})
			w.pass(quiet)
			if told := sent.last("c2"); told.Answers != number || told.Change.ID == "" {
				t.Errorf("asked with %d it tells %+v", number, told)
			}
		}
		w.edit(bob, "ConfigMap/flags", "2")
		w.pass(quiet)
		if told := sent.last("c2"); told.Answers != 8 || told.Change.Type != reloader.ChangeUpdated {
			t.Errorf("after an edit it tells %+v", told)
		}
	})
}

// TestOwnerNamesWhoMadeAChange: what a follower is told says who may have made it, also if nobody listened when they did.
func TestOwnerNamesWhoMadeAChange(t *testing.T) {
	const ownRef scenario.Ref = "ConfigMap/flags"
	tests := map[string]struct {
		reason string
		act    func(w *world) *process
		want   map[string]reloader.Basis
	}{
		"nobody ran": {
			"the hint was taken before somebody asked for the config",
			func(w *world) *process {
				w.stop()
				w.edit(bob, ownRef, "2")
				w.pass(time.Minute)
				p := w.start()
				w.pass(quiet)
				return p
			},
			map[string]reloader.Basis{"bob": reloader.BasisFieldManager},
		},
		"the hub is away after a start": {
			"of several who wrote only the last is known any more, and that there were others is not ruled out",
			func(w *world) *process {
				w.stop()
				p := w.start()
				w.edit(alice, ownRef, "2")
				w.pass(quiet)
				w.edit(bob, ownRef, "3")
				w.pass(quiet)
				return p
			},
			map[string]reloader.Basis{"bob": reloader.BasisFieldManager},
		},
		"nobody has told of it": {
			"the last hint is about a change before",
			func(w *world) *process {
				w.stop()
				w.stream.hold()
				w.edit(bob, ownRef, "2")
				w.stream.take()
				return w.start()
			},
			map[string]reloader.Basis{},
		},
		"the hint comes late": {
			"it is a later word about the same change",
			func(w *world) *process {
				w.stop()
				w.stream.hold()
				w.edit(bob, ownRef, "2")
				p := w.start()
				w.want(p, "c2")
				w.stream.send(w.stream.take()...)
				w.pass(quiet)
				return p
			},
			map[string]reloader.Basis{"bob": reloader.BasisOnlyWriter},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			amongClusters(t, func(t *testing.T, w *world, sent *copies) {
				w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: c2}}, data: {a: "1"}}`)))
				w.want(w.start(), "c2")
				first := sent.last("c2").Change
				w.edit(alice, ownRef, "1a")
				w.pass(quiet)
				w.want(test.act(w), "c2")
				last := sent.last("c2").Change
				if last.Type != reloader.ChangeUpdated || last.ID == first.ID {
					t.Fatalf("c2 was told %+v", last)
				}
				if got := bases(last); fmt.Sprint(got) != fmt.Sprint(test.want) {
					t.Errorf("it names %v, want %v: %s", got, test.want, test.reason)
				}
			})
		})
	}
}

// TestOwnerNamesWhoMadeAChangeThatItRollsFor: where a workload of its own depends on the config, too, no hint is dropped, and all that come name
// who did it.
func TestOwnerNamesWhoMadeAChangeThatItRollsFor(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: c2}}, data: {a: "1"}}`)))
		w.deploy("web", auto, "flags")
		w.want(w.start(), "c2")
		w.stop()
		w.edit(bob, "ConfigMap/flags", "2")
		w.pass(time.Minute)
		p := w.launch()
		w.want(p, "c2")
		w.rolled(web, 1)
		w.stream.connect(p.Handle)
		w.pass(quiet)
		r := w.store.reloadsOf(webRef)
		if len(r) != 1 || len(r[0].Causes) != 1 || len(r[0].Causes[0].Candidates) != 1 || r[0].Causes[0].Candidates[0].Basis != reloader.BasisOnlyWriter {
			t.Errorf("on record are %+v", r)
		}
		if got := bases(sent.last("c2").Change)["bob"]; got != reloader.BasisOnlyWriter {
			t.Errorf("c2 was told of bob as %q", got)
		}
	})
}

// want has a cluster follow the flags of this one.
func (w *world) want(p *process, target string) {
	w.t.Helper()
	p.Wanted(reloader.Want{Owner: clusterName, Target: target, Configs: []reloader.Config{ownFlags()}})
	w.pass(quiet)
}

// TestOwnerThatIsCutOffRecordsEveryChange: it hears nobody ask then, and each change that others will be told of is on record with who made it.
func TestOwnerThatIsCutOffRecordsEveryChange(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: c2}}, data: {a: "1"}}`)))
		p := w.start()
		w.want(p, "c2")
		w.pass(2 * time.Hour)
		for n, by := range []reloader.Actor{alice, bob} {
			w.edit(by, "ConfigMap/flags", fmt.Sprint("in the cut ", n))
			w.pass(quiet)
			change, types := w.store.changesOf(ownFlags())
			if types[reloader.ChangeUpdated] != n+1 || bases(change)[by.User] != reloader.BasisOnlyWriter {
				t.Errorf("after %d edits there are %v on record, the last of %v", n+1, types, bases(change))
			}
			if told := sent.last("c2").Change; told.ID != change.ID {
				t.Errorf("c2 is to be told %+v", told)
			}
		}
		w.pass(25 * time.Hour)
		before := len(sent.sent)
		w.edit(alice, "ConfigMap/flags", "when nobody has asked for a day")
		w.pass(quiet)
		if len(sent.sent) != before {
			t.Errorf("c2, which has not asked for a day, is told %+v", sent.last("c2"))
		}
	})
}

// TestNothingIsToldToWhoEndsToAsk: also not by a look that had begun before.
func TestNothingIsToldToWhoEndsToAsk(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: "*"}}, data: {a: "1"}}`)))
		p := w.start()
		ask := func(target string, configs ...reloader.Config) {
			p.Wanted(reloader.Want{Owner: clusterName, Target: target, Configs: configs})
		}
		ends := sync.OnceFunc(func() { ask("c2") })
		w.failing(func(verb, _ string) error {
			if verb == "meta" {
				ends()
			}
			return nil
		})
		ask("c2", ownFlags())
		ask("c3", ownFlags())
		w.pass(quiet)
		if told := sent.last("c2"); told.Target != "" {
			t.Errorf("c2 follows nothing any more, and was told %+v", told)
		}
		if told := sent.last("c3"); told.Change.ID == "" {
			t.Errorf("c3 was told %+v", told)
		}
	})
}

// TestTargetDrivesNoReads: however often a cluster asks, under new numbers or for others, its owner looks at no more than it has granted to a cluster,
// asks the API server once about what it refuses, and serves others meanwhile.
func TestTargetDrivesNoReads(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: c3}}, data: {a: "1"}}`)))
		p := w.start()
		ask := func(target string, number uint64, configs ...reloader.Config) {
			numbers := make([]uint64, len(configs))
			for i := range numbers {
				numbers[i] = number
			}
			p.Wanted(reloader.Want{Owner: clusterName, Target: target, Configs: configs, Numbers: numbers})
		}
		w.counted("meta")
		for number := range uint64(50) {
			ask("c2", number, ownFlags())
			w.pass(time.Second)
		}
		if n := w.counted("meta"); n > 2 { // the hint of its creation may come after the first
			t.Errorf("%d reads for a refusal that is known", n)
		}
		if told := sent.last("c2"); told.Refused == "" || told.Answers != 49 {
			t.Errorf("c2 was told %+v", told)
		}
		for round := range 30 {
			var configs []reloader.Config
			for n := range reloader.MaxWanted {
				configs = append(configs, reloader.Config{Kind: reloader.Secret, Namespace: "kube-system", Name: fmt.Sprintf("guess-%d-%d", round, n)})
			}
			ask("c2", 1, configs...)
			if round == 20 {
				ask("c3", 1, ownFlags())
			}
			w.pass(time.Second)
		}
		if told := sent.last("c3"); told.Change.ID == "" {
			t.Errorf("c3 was told %+v", told)
		}
		if n := w.counted("meta"); n > 2*reloader.MaxWanted {
			t.Errorf("%d reads in half a minute", n)
		}
	})
}
