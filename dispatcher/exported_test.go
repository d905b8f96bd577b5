package dispatcher_test

import (
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
