package dispatcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const (
	// readsFlags follows flags of c1, and reads them from the local copy.
	readsFlags              = `reroll.dev/follow: c1/shared/configmap/flags=flags`
	localFlags scenario.Ref = "ConfigMap/flags"
)

// replicated starts a world in which web reads a local copy of the flags of c1, and has seen both.
func replicated(t *testing.T, annotations string, test func(t *testing.T, w *world, p *process)) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.give("flags", "1")
		w.deploy("web", annotations, "flags")
		p := w.start()
		p.Receive(copyOfFlags(1))
		w.pass(quiet)
		w.rolled(web, 0)
		test(t, w, p)
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

// TestRecordNamesReplicas: whoever foretells a roll is told where the workload reads the content, as its annotation has it now.
func TestRecordNamesReplicas(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, _ *process) {
		says := func(want string) {
			t.Helper()
			record, _ := w.store.recordOf(webRef)
			for _, e := range record.Edges {
				if expected := map[string]string{"c1": want}[e.Config.Cluster]; e.Replica != expected {
					t.Errorf("of %s the copy is %q, want %q", e.Config, e.Replica, expected)
				}
			}
		}
		says("flags")
		w.says(web, `{"metadata":{"annotations":{"reroll.dev/follow":"c1/shared/configmap/flags"}}}`)
		w.pass(quiet)
		says("")
	})
}

func TestReplicatedConfigRollsOnceItsCopyHasChanged(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, p *process) {
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.rolled(web, 0)
		hold := w.held(reloader.ReasonWaitingForReplica)
		if !strings.Contains(hold.Message, "ConfigMap/main/flags") || !strings.Contains(hold.Message, "c1/ConfigMap/shared/flags") {
			t.Errorf("the hold says %q", hold.Message)
		}
		if left := time.Until(hold.Due); left <= 0 || left > time.Hour {
			t.Errorf("it is due in %s", left)
		}
		w.pass(20 * time.Minute)
		w.rolled(web, 0)
		told := 0
		for _, r := range w.store.announced {
			if r.Outcome == reloader.ReasonWaitingForReplica && r.Message == hold.Message && len(r.Causes) == 1 {
				told++
			}
		}
		if told != 1 {
			t.Errorf("people were told %d times that it waits", told)
		}
		w.edit(alice, localFlags, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		w.held("")
		w.causedBy(1, 1)
		w.pass(2 * time.Hour)
		w.rolled(web, 1)
	})
}

// TestCopyThatChangesFirst: the owner's change comes late, and the workload runs with it already.
func TestCopyThatChangesFirst(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, p *process) {
		owners := copyOfFlags(2)
		w.pass(time.Second)
		w.edit(alice, localFlags, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		p.Receive(owners)
		w.pass(quiet)
		w.rolled(web, 1)
		w.held("")
		if n := w.outcomes(webRef)[reloader.ReasonAlreadyCurrent]; n != 1 {
			t.Errorf("outcomes %v", w.outcomes(webRef))
		}
	})
}

func TestCopyThatChangedBeforeIsNoNews(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, p *process) {
		w.edit(alice, localFlags, "2")
		w.pass(time.Minute)
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.rolled(web, 1)
		w.held(reloader.ReasonWaitingForReplica)
		w.edit(alice, localFlags, "3")
		w.pass(quiet)
		w.rolled(web, 2)
		w.causedBy(1, 1)
	})
}

func TestCopyThatDoesNotChangeInTime(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, p *process) {
		p.Receive(copyOfFlags(2))
		w.pass(2 * time.Hour)
		w.rolled(web, 0)
		w.held("")
		if n := w.outcomes(webRef)[reloader.ReasonReplicaUnchanged]; n != 1 {
			t.Fatalf("outcomes %v", w.outcomes(webRef))
		}
		w.edit(alice, localFlags, "2") // late, and not too late
		w.pass(quiet)
		w.rolled(web, 1)
		w.causedBy(1, 0)
	})
}

func TestOthersDoNotWaitForACopy(t *testing.T) {
	replicated(t, readsFlags+`, reroll.dev/configmaps: app`, func(t *testing.T, w *world, p *process) {
		w.give("app", "1")
		w.pass(quiet)
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.held(reloader.ReasonWaitingForReplica)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		w.causedBy(1, 0)
		w.held(reloader.ReasonWaitingForReplica)
		w.edit(alice, localFlags, "2")
		w.pass(quiet)
		w.rolled(web, 2)
		w.held("")
	})
}

func TestOwnerThatGoesBackEndsTheWait(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, p *process) {
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.held(reloader.ReasonWaitingForReplica)
		back := copyOfFlags(1)
		back.Change.Old, back.Change.ResourceVersion = copyOfFlags(2).Change.New, "3"
		back.Change.ID = reloader.ChangeID(back.Change)
		p.Receive(back)
		w.pass(quiet)
		w.rolled(web, 0)
		w.held("")
	})
}

func TestWaitForACopyOutlivesProcesses(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, p *process) {
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.stop()
		p = w.start()
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.rolled(web, 0)
		w.held(reloader.ReasonWaitingForReplica)
		before := w.store.snapshot()
		w.edit(alice, localFlags, "2")
		w.pass(quiet)
		w.rolled(web, 1)
		w.stop()
		w.store = before // as if the process had ended right after the patch
		p = w.start()
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.rolled(web, 1)
		w.held("")
	})
}

func TestFrozenWorkloadThatWaitsForItsCopy(t *testing.T) {
	replicated(t, readsFlags, func(t *testing.T, w *world, p *process) {
		p.SetControl(control.Frozen(control.Freeze{}))
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.held(reloader.ReasonWaitingForReplica)
		w.edit(alice, localFlags, "2")
		w.pass(quiet)
		w.held(reloader.ReasonFrozen)
		p.SetControl(control.Control{})
		w.pass(quiet)
		w.rolled(web, 1)
		w.causedBy(1, 1)
	})
}

func TestCopyInADryRun(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.configure = func(o *dispatcher.Options) { o.DryRun = true }
		w.give("flags", "1")
		w.deploy("web", readsFlags, "flags")
		p := w.start()
		p.Receive(copyOfFlags(1))
		w.pass(quiet)
		p.Receive(copyOfFlags(2))
		w.pass(quiet)
		w.held(reloader.ReasonWaitingForReplica)
		w.edit(alice, localFlags, "2")
		w.pass(quiet)
		w.rolled(web, 0)
		w.held("")
		if n := w.outcomes(webRef); n[reloader.ReasonDryRun] != 1 {
			t.Errorf("outcomes %v", n)
		}
	})
}

func TestKeysThatDoNotCountAreNotWaitedFor(t *testing.T) {
	replicated(t, readsFlags+`, reroll.dev/keys: "!noise"`, func(t *testing.T, w *world, p *process) {
		c := copyOfFlags(2)
		c.Change.Keys = []reloader.KeyChange{{Key: "noise"}}
		p.Receive(c)
		w.pass(quiet)
		w.held("")
		if n := w.outcomes(webRef); n[reloader.ReasonKeysUnused] != 1 {
			t.Errorf("outcomes %v", n)
		}
	})
}

// TestTemplateNamesTheFollowedContent: also where a mark of another config already makes the difference.
func TestTemplateNamesTheFollowedContent(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.configure = together
		w.give("app", "1")
		w.deploy("web", followsFlags+", "+auto, "app")
		p := w.start()
		p.Receive(copyOfFlags(1))
		w.pass(quiet)
		for n := 2; n < 4; n++ {
			w.edit(alice, app, "with "+copyOfFlags(n).Change.New.Sum)
			told := copyOfFlags(n)
			p.Receive(told)
			w.pass(quiet)
			w.rolled(web, int64(n-1))
			if got := w.templateAnnotation(strategy.ConfigDigestKey); got != told.Change.New.Short()+"/"+told.Change.ID {
				t.Errorf("the template names %q, and not %s", got, told.Change.ID)
			}
		}
		before := w.templateAnnotation(strategy.ConfigDigestKey)
		w.edit(alice, app, "alone")
		w.pass(quiet)
		w.rolled(web, 3)
		if got := w.templateAnnotation(strategy.ConfigDigestKey); got != before {
			t.Errorf("for a config of its own the template names %q", got)
		}
	})
}
