package dispatcher_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// copies collects what is sent to other clusters.
type copies struct {
	mu   sync.Mutex
	sent []reloader.Copy
}

func (c *copies) Send(one reloader.Copy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, one)
}

// last returns the newest copy for a target.
func (c *copies) last(target string) reloader.Copy {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range slices.Backward(c.sent) {
		if one.Target == target {
			return one
		}
	}
	return reloader.Copy{}
}

func amongClusters(t *testing.T, test func(t *testing.T, w *world, sent *copies)) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		sent := &copies{}
		w.configure = func(o *dispatcher.Options) {
			o.Copies = sent
		}
		test(t, w, sent)
	})
}

var flags = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shared", Name: "flags"}

// copyOfFlags is what cluster c1 tells about its flags when they have content n.
func copyOfFlags(n int) reloader.Copy {
	digest := func(n int) reloader.Digest { return reloader.Digest{KeyID: "c1", Sum: fmt.Sprint("sum-", n)} }
	c := reloader.Change{
		Cluster: "c1", Config: flags, Type: reloader.ChangeUpdated, UID: "u", ResourceVersion: fmt.Sprint(n),
		Old: digest(n - 1), New: digest(n), Source: reloader.SourceAudit, VerifiedAt: time.Now(),
	}
	c.ID = reloader.ChangeID(c)
	return reloader.Copy{Owner: "c1", Target: clusterName, Config: flags, Change: c, At: time.Now()}
}

const followsFlags = `reroll.dev/follow: c1/shared/configmap/flags`

// refusedFlags is what cluster c1 tells when it lets nobody follow its flags any more.
func refusedFlags() reloader.Copy {
	return reloader.Copy{Owner: "c1", Target: clusterName, Config: flags, Refused: "no followers", At: time.Now()}
}

// following runs a test in which web follows the flags of cluster c1, of which it knows content 1.
func following(t *testing.T, name, annotations string, test func(t *testing.T, w *world, p *process)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		amongClusters(t, func(t *testing.T, w *world, _ *copies) {
			w.give("app", "1")
			w.deploy("web", followsFlags+annotations, "app")
			p := w.start()
			p.Receive(copyOfFlags(1))
			w.rolls(0)
			test(t, w, p)
		})
	})
}

// TestFollower: what workloads that follow a config of another cluster are rolled for.
func TestFollower(t *testing.T) {
	following(t, "once for each change", "", func(t *testing.T, w *world, p *process) {
		for range 2 {
			p.Receive(copyOfFlags(2))
			w.rolls(1)
		}
		w.stop()
		p = w.start() // the hub is away
		w.rolls(1)
		p.Receive(copyOfFlags(2))
		w.rolls(1)
		w.stop()
		p = w.start()
		p.Receive(copyOfFlags(60)) // of an hour in which it was cut off
		w.rolls(2)
		w.edited("2", 2) // which it refers to, and does not ask for
		r := w.store.reloadsOf(webRef)
		cause := r[len(r)-1].Causes[len(r[len(r)-1].Causes)-1]
		followed := flags
		followed.Cluster = "c1"
		if cause.Config != followed || cause.Why != reloader.ReasonFollowed || cause.Clause != dialect.FollowKey || cause.ChangeID != copyOfFlags(60).Change.ID {
			t.Errorf("the cause is %+v", cause)
		}
	})
	following(t, "not by one that is ignored", `, reroll.dev/ignore: "true"`, func(t *testing.T, w *world, p *process) {
		p.Receive(copyOfFlags(2))
		w.rolls(0)
		if followed := p.Followed(); len(followed) > 0 {
			t.Errorf("%v are asked for", followed)
		}
	})
	following(t, "a refusal while it waits holds up nothing else", ", "+auto, func(_ *testing.T, w *world, p *process) {
		p.SetControl(control.Frozen(control.Freeze{}))
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		p.Receive(refusedFlags())
		w.pass(quiet)
		w.edited("2", 0)
		p.SetControl(control.Control{})
		w.rolls(1)
		w.causedBy(1, 0)
		w.edited("3", 2)
		w.held(reloader.ReasonRefused)
		w.stop()
		p = w.start()
		p.Receive(refusedFlags())
		w.pass(quiet)
		w.edited("4", 3)
		p.Receive(copyOfFlags(2)) // it is allowed again, and what was pending is not forgotten
		w.pass(quiet)
		w.rolls(4)
	})
}

func TestFollowThatIsRefusedIsNamedOnTheWorkload(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.give("app", "1")
		w.deploy("web", followsFlags, "app")
		p := w.settled()
		w.wantProblem(t, "nothing has come from cluster c1")
		p.Receive(reloader.Copy{Owner: "c1", Target: clusterName, Config: flags, Refused: "no followers", At: time.Now()})
		w.pass(quiet)
		w.wantProblem(t, "no followers")
		if n := len(w.store.problems); n != 2 {
			t.Errorf("%d Events, want one for each reason: %q", n, w.store.problems)
		}
		p.Receive(copyOfFlags(1))
		w.pass(quiet)
		w.wantProblem(t, "")
		p.Receive(copyOfFlags(2))
		w.rolls(1)
	})
}

// troubles returns the problems of r, and why its configs cannot be read.
func troubles(r reloader.WorkloadRecord) []string {
	found := slices.Clone(r.Problems)
	for _, u := range r.Unreadable {
		found = append(found, u.Message)
	}
	return found
}

// wantProblem fails the test unless the record of web names that problem, or none if it is empty.
func (w *world) wantProblem(t *testing.T, text string) {
	t.Helper()
	r, _ := w.store.recordOf(webRef)
	if got := strings.Join(troubles(r), "\n"); text == "" && got != "" || !strings.Contains(got, text) {
		t.Errorf("problems %q, want %q", got, text)
	}
}

func TestOwnerTellsThoseWhomItAllows(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: flags, annotations: {reroll.dev/followers: "c2, c4"}}, data: {a: "1"}}`)))
		own := flags
		own.Namespace = scenario.DefaultNamespace
		p := w.start()
		w.pass(quiet) // nobody wants it yet: the hint about its creation tells nothing
		ask := func() {
			for _, target := range []string{"c2", "c3"} {
				p.Wanted(reloader.Want{Owner: clusterName, Target: target, Configs: []reloader.Config{own}})
			}
			w.pass(quiet)
		}
		ask()
		first := sent.last("c2")
		if first.Refused != "" || first.Change.New.IsZero() || sent.last("c3").Refused == "" || sent.last("c3").Change.ID != "" {
			t.Fatalf("c2 was told %+v, c3 %+v", first, sent.last("c3"))
		}
		w.edit(bob, "ConfigMap/flags", "2")
		w.pass(quiet)
		if second := sent.last("c2"); !second.Change.Old.Equal(first.Change.New) || second.Change.Type != reloader.ChangeUpdated {
			t.Errorf("after an edit c2 was told %+v", second.Change)
		}
		w.stop()
		w.edit(bob, "ConfigMap/flags", "3") // while nobody looks
		w.pass(quiet)
		second := sent.last("c2")
		p = w.start()
		ask()
		if third := sent.last("c2"); !third.Change.Old.Equal(second.Change.New) || third.Change.Type != reloader.ChangeUpdated {
			t.Errorf("after an edit while it was away c2 was told %+v", third.Change)
		}
		w.must(w.patch(bob, "ConfigMap/flags", types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/followers":"*"}}}`)))
		w.pass(quiet)
		if sent.last("c3").Refused != "" {
			t.Errorf("c3 is allowed, and was told %+v", sent.last("c3"))
		}
		w.must(w.delete(bob, "ConfigMap/flags"))
		w.pass(quiet)
		if sent.last("c2").Refused == "" {
			t.Errorf("the config is gone, and c2 was told %+v", sent.last("c2"))
		}
	})
}

// causedBy fails the test unless the last roll of web names that many changes of its own cluster, and of others.
func (w *world) causedBy(own, others int) {
	w.t.Helper()
	var last reloader.Reload
	for _, r := range w.store.reloadsOf(webRef) {
		if r.Outcome == reloader.ReasonReloaded {
			last = r
		}
	}
	for _, c := range last.Causes {
		if c.Config.Cluster == "" {
			own--
		} else {
			others--
		}
	}
	if own != 0 || others != 0 {
		w.t.Errorf("%d and %d causes are missing in %+v", own, others, last.Causes)
	}
}
