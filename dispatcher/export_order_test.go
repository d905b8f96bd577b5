package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
)

// TestCopyIsAsOldAsTheLookBehindIt: a look may take long, and another process may have looked and told since it began.
func TestCopyIsAsOldAsTheLookBehindIt(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: c2}}, data: {a: "1"}}`)))
		p := w.start()
		w.pass(quiet)
		released := make(chan struct{})
		w.cluster.fail = func(verb, _ string) error {
			if verb == "meta" {
				<-released
			}
			return nil
		}
		began := time.Now()
		p.Wanted(reloader.Want{Owner: clusterName, Target: "c2", Configs: []reloader.Config{ownFlags()}})
		w.pass(quiet)
		close(released)
		w.pass(quiet)
		if told := sent.to("c2"); len(told) == 0 || told[0].Change.ID == "" || told[0].At.After(began) {
			t.Errorf("the look began at %v, and told were %+v", began, told)
		}
	})
}

// slowHints keeps who asks for the last hint waiting.
type slowHints struct {
	dispatcher.Hints
	released chan struct{}
}

// LastHint is that of Hints, later.
func (s slowHints) LastHint(ctx context.Context, cluster string, c reloader.Config) (reloader.Hint, bool, error) {
	<-s.released
	return s.Hints.LastHint(ctx, cluster, c)
}

// TestWhatIsToldOfAConfigIsToldInOrder: while it is found out who made one change, there is another, and a workload of the owner's cluster begins to
// follow as well, for which the config is looked at.
func TestWhatIsToldOfAConfigIsToldInOrder(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: "*"}}, data: {a: "1"}}`)))
		w.give("app", "1")
		want := reloader.Want{Owner: clusterName, Target: "c2", Configs: []reloader.Config{ownFlags()}}
		w.start().Wanted(want)
		w.pass(quiet)
		w.stop()
		w.edit(bob, "ConfigMap/flags", "2") // while nobody looks
		w.pass(quiet)
		released := make(chan struct{})
		w.configure = func(o *dispatcher.Options) { o.Copies, o.Hints = sent, slowHints{o.Hints, released} }
		p := w.start()
		w.pass(quiet)
		before := len(sent.to("c2"))
		p.Wanted(want)
		w.pass(time.Second)
		w.edit(bob, "ConfigMap/flags", "3")
		w.pass(quiet)
		newest, _ := w.store.changesOf(ownFlags())
		w.deploy("web", "reroll.dev/follow: "+clusterName+"/"+ownFlags().Namespace+"/configmap/flags", "app")
		w.pass(quiet)
		close(released)
		w.pass(quiet)
		told := sent.to("c2")[before:]
		for i, one := range told {
			if i > 0 && told[i-1].Change.ID == newest.ID && one.Change.ID != newest.ID {
				t.Errorf("after the newest change an earlier one was told: %+v", one)
			}
		}
		if n := len(told); n < 2 || told[0].Change.ID == newest.ID || told[n-1].Change.ID != newest.ID {
			t.Errorf("%d copies were told, where two changes were and the newest is the last: %+v", n, told)
		}
	})
}
