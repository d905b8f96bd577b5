package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
)

// refusedFlags is what cluster c1 tells when it lets nobody follow its flags any more.
func refusedFlags() reloader.Copy {
	return reloader.Copy{Owner: "c1", Target: clusterName, Config: flags, Refused: "no followers", At: time.Now()}
}

// TestFollowThatIsRefusedWhileItWaitsHoldsUpNobodyElse: a change that its owner takes back while a brake holds the workload is still pending,
// and what changes in the workload's own cluster is rolled all the same.
func TestFollowThatIsRefusedWhileItWaitsHoldsUpNobodyElse(t *testing.T) {
	tests := map[string]struct {
		reason string
		refuse func(w *world, p *process)
	}{
		"refused": {
			"the annotation of its owner does not name us any more",
			func(_ *world, p *process) { p.Receive(refusedFlags()) },
		},
		"pushed out": {
			"too many others come before it, so that its owner is not asked any more",
			func(w *world, p *process) {
				w.followMany("a")
				p.Followed()
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			amongClusters(t, func(t *testing.T, w *world, _ *copies) {
				w.give("app", "1")
				w.deploy("web", followsFlags+", "+auto, "app")
				p := w.start()
				p.Receive(copyOfFlags(1))
				w.pass(quiet)
				p.SetControl(control.Frozen(control.Freeze{}))
				p.Receive(copyOfFlags(2))
				w.pass(quiet)
				test.refuse(w, p)
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
			})
		})
	}
}

// TestFollowThatIsAllowedAgainRollsForWhatWaited: what was pending when it was refused has not been forgotten.
func TestFollowThatIsAllowedAgainRollsForWhatWaited(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.give("app", "1")
		w.deploy("web", followsFlags+", "+auto, "app")
		p := w.start()
		p.Receive(copyOfFlags(1))
		w.pass(quiet)
		p.SetControl(control.Frozen(control.Freeze{}))
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		p.Receive(refusedFlags())
		w.pass(quiet)
		p.SetControl(control.Control{})
		w.rolls(0)
		p.Receive(copyOfFlags(2))
		w.pass(2 * quiet)
		w.rolled(web, 1)
		w.held("")
	})
}

// followMany has workloads follow as many configs of c1 as may be followed, whose names begin so.
func (w *world) followMany(names string) {
	w.t.Helper()
	for i := 0; i < reloader.MaxWanted; i += perWorkload {
		text := ""
		for n := i; n < min(i+perWorkload, reloader.MaxWanted); n++ {
			text += fmt.Sprintf("c1/shared/configmap/%s-%04d,", names, n)
		}
		w.deploy(fmt.Sprint("other-", i), fmt.Sprintf("reroll.dev/follow: %q", text[:len(text)-1]), "app")
	}
	w.pass(quiet)
}

// TestOwnerWithAnotherClock: the time that an owner gives a change is its own, and decides neither how long a follower waits nor whether its
// pods have started since.
func TestOwnerWithAnotherClock(t *testing.T) {
	told := func(n int, ahead time.Duration) reloader.Copy {
		c := copyOfFlags(n)
		c.Change.VerifiedAt = c.Change.VerifiedAt.Add(ahead)
		c.Change.RequestedAt, c.Change.ReceivedAt = c.Change.VerifiedAt, c.Change.VerifiedAt
		c.Change.Candidates = []reloader.Candidate{{Actor: alice, Time: c.Change.VerifiedAt}}
		return c
	}
	following := func(t *testing.T, test func(t *testing.T, w *world)) {
		amongClusters(t, func(t *testing.T, w *world, _ *copies) {
			w.configure = together
			w.give("app", "1")
			w.deploy("web", followsFlags, "app")
			test(t, w)
		})
	}
	t.Run("ahead", func(t *testing.T) {
		following(t, func(t *testing.T, w *world) {
			p := w.start()
			p.Receive(copyOfFlags(1))
			w.pass(quiet)
			p.Receive(told(2, time.Hour))
			w.pass(5 * time.Second)
			w.rolled(web, 1)
			for _, r := range w.store.reloadsOf(webRef) {
				cause := r.Causes[0]
				for what, at := range map[string]time.Time{
					"verified": cause.VerifiedAt, "requested": cause.RequestedAt, "received": cause.ReceivedAt, "made": cause.Candidates[0].Time,
				} {
					if at.After(time.Now()) {
						t.Errorf("it was rolled for a change that is %s in %s", what, time.Until(at))
					}
				}
			}
		})
	})
	t.Run("behind, and there is a window", func(t *testing.T) {
		following(t, func(t *testing.T, w *world) {
			p := w.start()
			p.Receive(copyOfFlags(1))
			w.pass(quiet)
			for n := range 3 {
				p.Receive(told(n+2, -time.Hour))
				w.pass(500 * time.Millisecond)
			}
			w.rolls(1)
		})
	})
	t.Run("behind, and pods have started since", func(t *testing.T) {
		following(t, func(t *testing.T, w *world) {
			p := w.start()
			p.Receive(copyOfFlags(1))
			w.pass(quiet)
			w.stop()
			w.restart(web)
			w.pass(time.Minute)
			p = w.start()
			w.pass(time.Minute)
			p.Receive(told(2, -5*time.Minute))
			w.rolls(2)
			if n := w.outcomes(webRef); n[reloader.ReasonReloaded] != 1 || n[reloader.ReasonPodsNewer] != 0 {
				t.Errorf("outcomes %v", n)
			}
		})
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
	tests := map[string]struct {
		reason string
		told   func() reloader.Copy
		want   int64
	}{
		"an edit after that": {
			"what it was changed from came after what the workload was brought to",
			func() reloader.Copy { return rotated(2) }, 1,
		},
		"nothing after that": {
			"it is the same under another key",
			func() reloader.Copy {
				c := rotated(1)
				c.Change.Type, c.Change.Old = reloader.ChangeBaseline, copyOfFlags(1).Change.New
				return c
			}, 0,
		},
		"an edit, and after that once more": {
			"nothing says whether there was an edit between the two rotations, so it rolls",
			func() reloader.Copy {
				c := rotated(2)
				c.Change.Type, c.Change.Old = reloader.ChangeBaseline, reloader.Digest{KeyID: "c1-between", Sum: "sum-2-between"}
				return c
			}, 1,
		},
		"its key is lost, and its memory": {
			"nobody knows what it was before, so it rolls",
			func() reloader.Copy {
				c := rotated(2)
				c.Change.Type, c.Change.Old = reloader.ChangeBaseline, reloader.Digest{}
				return c
			}, 1,
		},
	}
	for name, test := range tests {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restarts), func(t *testing.T) {
				amongClusters(t, func(t *testing.T, w *world, _ *copies) {
					w.give("app", "1")
					w.deploy("web", followsFlags, "app")
					p := w.start()
					p.Receive(copyOfFlags(1))
					w.pass(quiet)
					if restarts {
						w.stop()
						p = w.start()
					}
					for range 2 {
						p.Receive(test.told())
						w.rolls(test.want)
					}
					w.stop()
					p = w.start()
					p.Receive(test.told())
					w.rolls(test.want)
					next := rotated(3)
					p.Receive(next)
					w.rolls(test.want + 1)
				})
			})
		}
	}
}

// TestFollowersReloadNamesWhoMadeTheChange: also if the owner comes to know that later, and says it about the same change.
func TestFollowersReloadNamesWhoMadeTheChange(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprintf("held %t", held), func(t *testing.T) {
			amongClusters(t, func(t *testing.T, w *world, _ *copies) {
				w.give("app", "1")
				w.deploy("web", followsFlags, "app")
				p := w.start()
				p.Receive(copyOfFlags(1))
				w.pass(quiet)
				if held {
					p.SetControl(control.Frozen(control.Freeze{}))
				}
				told := copyOfFlags(2)
				p.Receive(told)
				w.pass(quiet)
				told.Change.Candidates = []reloader.Candidate{{Actor: bob, Verb: reloader.VerbPatch, Time: time.Now(), Basis: reloader.BasisOnlyWriter}}
				p.Receive(told)
				w.pass(quiet)
				p.SetControl(control.Control{})
				w.rolls(1)
				reloads := w.store.reloadsOf(webRef)
				if len(reloads) != 1 || len(reloads[0].Causes) != 1 || len(reloads[0].Causes[0].Candidates) != 1 {
					t.Fatalf("on record are %+v", reloads)
				}
				if who := reloads[0].Causes[0].Candidates[0]; who.Actor != bob || who.Basis != reloader.BasisOnlyWriter {
					t.Errorf("the reload names %+v", who)
				}
				if n := len(w.store.announced); n != 1 {
					t.Errorf("%d reloads were announced, want 1", n)
				}
			})
		})
	}
}
