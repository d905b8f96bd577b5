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
	following(t, "one's own config of that name apart", ", "+auto, func(t *testing.T, w *world, p *process) {
		w.give("flags", "1")
		w.must(w.patch(alice, web, types.StrategicMergePatchType,
			[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","envFrom":[{"configMapRef":{"name":"flags"}}]}]}}}}`)))
		w.rolls(1)
		w.edit(alice, "ConfigMap/flags", "2")
		w.rolls(2)
		p.Receive(copyOfFlags(2))
		w.rolls(3)
		w.edit(alice, "ConfigMap/flags", "3")
		w.rolls(4)
		w.successor().Receive(copyOfFlags(2))
		w.rolls(4)
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
	// The time that an owner gives a change is its own: it decides neither how long a follower waits nor whether pods have started since.
	told := func(n int, ahead time.Duration) reloader.Copy {
		c := copyOfFlags(n)
		at := c.Change.VerifiedAt.Add(ahead)
		c.Change.VerifiedAt, c.Change.RequestedAt, c.Change.ReceivedAt = at, at, at
		c.Change.Candidates = []reloader.Candidate{{Actor: alice, Time: at}}
		return c
	}
	following(t, "an owner whose clock is ahead", "", func(t *testing.T, w *world, p *process) {
		p.Receive(told(2, time.Hour))
		w.pass(5 * time.Second)
		w.rolled(web, 1)
		cause, now := w.store.reloadsOf(webRef)[0].Causes[0], time.Now()
		for _, at := range []time.Time{cause.VerifiedAt, cause.RequestedAt, cause.ReceivedAt, cause.Candidates[0].Time} {
			if at.After(now) {
				t.Errorf("it was rolled for a change of the future: %+v", cause)
			}
		}
	})
	following(t, "an owner whose clock is behind", "", func(t *testing.T, w *world, _ *process) {
		w.stop()
		w.restart(web)
		w.pass(time.Minute)
		p := w.start()
		w.pass(time.Minute)
		p.Receive(told(2, -5*time.Minute))
		w.rolls(2)
		if n := w.outcomes(webRef); n[reloader.ReasonReloaded] != 1 || n[reloader.ReasonPodsNewer] != 0 {
			t.Errorf("outcomes %v", n)
		}
	})
	following(t, "who made the change is told later", "", func(t *testing.T, w *world, p *process) {
		told := copyOfFlags(2)
		p.Receive(told)
		w.pass(quiet)
		told.Change.Candidates = []reloader.Candidate{{Actor: bob, Verb: reloader.VerbPatch, Time: time.Now(), Basis: reloader.BasisOnlyWriter}}
		p.Receive(told)
		w.rolls(1)
		reloads := w.store.reloadsOf(webRef)
		if len(reloads) != 1 || len(reloads[0].Causes) != 1 || len(reloads[0].Causes[0].Candidates) != 1 || len(w.store.announced) != 1 {
			t.Fatalf("on record are %+v, and announced %+v", reloads, w.store.announced)
		}
		if who := reloads[0].Causes[0].Candidates[0]; who.Actor != bob || who.Basis != reloader.BasisOnlyWriter {
			t.Errorf("the reload names %+v", who)
		}
	})
}

// TestOwnerRotatesItsKeyWithinACut: the hub keeps one copy of each config. Of a change that came after a rotation only that copy tells.
func TestOwnerRotatesItsKeyWithinACut(t *testing.T) {
	rotated := func(n int) reloader.Copy { // from n-1 to n, both under another key
		c := copyOfFlags(n)
		c.Change.Old.KeyID, c.Change.New.KeyID = "c1-new", "c1-new"
		c.Change.Old.Sum, c.Change.New.Sum = "new-"+c.Change.Old.Sum, "new-"+c.Change.New.Sum
		c.Change.ID = reloader.ChangeID(c.Change)
		return c
	}
	for name, test := range map[string]struct {
		n    int
		from *reloader.Digest // that of a first sight
		want int64
	}{
		"an edit after that":                {2, nil, 1},
		"nothing after that":                {1, &reloader.Digest{KeyID: "c1", Sum: "sum-1"}, 0},
		"an edit, and after that once more": {2, &reloader.Digest{KeyID: "c1-between", Sum: "sum-2-between"}, 1}, // nobody knows of one between
		"its key is lost, and its memory":   {2, &reloader.Digest{}, 1},
	} {
		following(t, name, "", func(_ *testing.T, w *world, p *process) {
			told := func() reloader.Copy {
				c := rotated(test.n)
				if test.from != nil {
					c.Change.Type, c.Change.Old = reloader.ChangeBaseline, *test.from
				}
				return c
			}
			for range 2 {
				p.Receive(told())
				w.rolls(test.want)
				w.stop()
				p = w.start()
			}
			p.Receive(rotated(3))
			w.rolls(test.want + 1)
		})
	}
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

// TestFollowThatIsPushedOutIsTold: what was followed, and is asked for no more since others come before it, gets no newer copies; the workload
// says so.
func TestFollowThatIsPushedOutIsTold(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.give("app", "1")
		w.deploy("web", followsFlags, "app")
		p := w.start()
		p.Receive(copyOfFlags(1))
		w.pass(quiet)
		for i := 0; i < reloader.MaxWanted; i += perWorkload {
			names := make([]string, min(perWorkload, reloader.MaxWanted-i))
			for n := range names {
				names[n] = fmt.Sprintf("c1/shared/configmap/a-%04d", i+n)
			}
			w.deploy(fmt.Sprint("other-", i), fmt.Sprintf("reroll.dev/follow: %q", strings.Join(names, ",")), "app")
		}
		w.pass(quiet)
		if len(p.Followed()) != reloader.MaxWanted {
			t.Fatalf("%d configs are asked for", len(p.Followed()))
		}
		w.pass(quiet)
		w.wantProblem(t, "flags cannot be followed: workloads here follow more than")
	})
}

// perWorkload is how many configs each of some workloads follows, so that no one of them follows too many.
const perWorkload = 60
