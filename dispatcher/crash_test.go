package dispatcher_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/tests/scenario"
)

var errLost = errors.New("connection lost")

// TestCrashBetweenPatchAndRecord: the successor patches nothing and completes the record.
func TestCrashBetweenPatchAndRecord(t *testing.T) {
	for _, strategy := range []string{"env-vars", "annotations"} {
		runWorld(t, strategy, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
			w.usually()
			w.store.lose(nil, errLost)
			w.edit(alice, app, "2")
			w.pass(time.Second)
			w.rolled(web, 1)
			w.stop()
			w.store.lose(nil, nil)
			if n := len(w.store.reloadsOf(webRef)); n != 0 {
				t.Fatalf("%d reloads are recorded before the restart, want 0", n)
			}
			w.settled()
			w.rolled(web, 1)
			reloads := w.store.reloadsOf(webRef)
			if len(reloads) != 1 || reloads[0].Outcome != reloader.ReasonReloaded || reloads[0].Causes[0].Config != appConfig {
				t.Errorf("reloads after the restart: %+v", reloads)
			}
			record, _ := w.store.recordOf(webRef)
			if record.LastReload != reloads[0].ID || record.Edges[0].Pending != "" {
				t.Errorf("record after the restart: %+v", record)
			}
			w.edited("3", 2)
		})
	}
}

// TestRestarts: what a process finds that comes after another one.
func TestRestarts(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"the sweep at start finds what changed while nobody ran, with no hint left to tell": func(_ *testing.T, w *world) {
			w.usual()
			w.give("other", "1")
			w.deploy("idle", auto, "other")
			w.settled()
			w.stop()
			w.edit(alice, app, "2")
			w.must(w.delete(alice, "ConfigMap/other"))
			w.give("other", "1")
			w.stream.forget()
			w.pass(time.Hour)
			w.settled()
			w.rolled(web, 1)
			w.rolled("Deployment/idle", 0)
			w.successor()
			w.rolled(web, 1)
		},
		// With changes and records gone, marks that are right roll nothing, no mark rolls nothing, and a mark that is wrong rolls once.
		"state lost": func(_ *testing.T, w *world) {
			w.usual()
			w.deploy("unmarked", auto, "calm")
			w.give("calm", "1")
			w.give("missed", "1")
			w.deploy("behind", auto, "missed")
			w.pass(time.Minute)
			w.settled()
			w.edit(alice, app, "2")
			w.edit(alice, "ConfigMap/missed", "2")
			w.rolls(1)
			w.rolled("Deployment/behind", 1)
			w.stop()
			w.store.wipe()
			w.edit(alice, "ConfigMap/missed", "3")
			w.stream.forget()
			w.pass(quiet)
			w.settled()
			w.rolled(web, 1)
			w.rolled("Deployment/unmarked", 0)
			w.rolled("Deployment/behind", 2)
			w.edit(alice, "ConfigMap/calm", "2")
			w.pass(quiet)
			w.rolled("Deployment/unmarked", 1)
			w.rolled("Deployment/behind", 2)
		},
	})
}

// TestChangesWhileDownGoOutTogether: two configs changed while nobody ran, and reading them takes its time, as there are many others to be
// read. Who starts then rolls once, for both.
func TestChangesWhileDownGoOutTogether(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.podStart = 30 * time.Second
		for i := range 40 {
			own := fmt.Sprintf("own-%d", i)
			w.give(own, "1")
			w.deploy("a-"+own, auto, own)
		}
		w.twoConfigs("app", "other")
		w.settled()
		w.stop()
		w.edit(alice, app, "2")
		w.edit(alice, "ConfigMap/other", "2")
		w.stream.forget()
		w.failing(func(verb, _ string) error {
			if verb == "meta" || verb == "get" {
				<-time.After(time.Second)
			}
			return nil
		})
		w.launch()
		w.pass(12 * time.Second)
		w.rolled(web, 1)
		w.pass(10 * quiet)
		w.rolled(web, 1)
		if got := w.outcomes(webRef); got[reloader.ReasonReloaded] != 1 {
			t.Errorf("outcomes %v, want one Reloaded", got)
		}
	})
}

// TestTwoDispatchers: an old leader that does not know it has been replaced doubles nothing.
func TestTwoDispatchers(t *testing.T) {
	for _, window := range []time.Duration{0, time.Second} {
		runWorld(t, window.String(), scenario.Settings{Window: scenario.Duration(window)}, func(t *testing.T, w *world) {
			w.usual()
			w.start()
			w.settled()
			for i, value := range []string{"2", "3", "1"} {
				w.edited(value, int64(i+1))
			}
			// A leader that has not seen the second edit records the third as a change since the first: the same write, under another ID.
			writes := map[string]bool{}
			for _, data := range w.store.history {
				if c := decode[reloader.Change](data); c.Config == appConfig && c.Type == reloader.ChangeUpdated {
					writes[c.ResourceVersion+" "+c.New.Sum] = true
				}
			}
			if len(writes) != 3 {
				t.Errorf("the changes are of the writes %v, want 3", writes)
			}
		})
	}
}

// markers are workloads each of which is marked by another form: a variable, an annotation of its own, and one for several configs together.
var markers = map[string]string{
	"reroll":   `reroll.dev/auto: "true"`,
	"stakater": `reloader.stakater.com/auto: "true"`,
	"wave":     `wave.pusher.com/update-on-config-change: "true"`,
	"trigger":  `trigger.k8s.io/triggering-configMaps: app`,
}

// TestKeyRotated: whatever is lost with that, a new digest key rolls nothing. A change that was missed meanwhile rolls once, also back to what was
// there before, and so does the next one; but not if nobody has the old key any more (exception X3).
func TestKeyRotated(t *testing.T) {
	for name, c := range map[string]struct {
		forget, keyLost bool
		missed          int64
	}{"nothing else": {missed: 1}, "the history is lost": {forget: true, missed: 1}, "the key is lost": {keyLost: true}} {
		for tool, annotations := range markers {
			runWorld(t, name+"/"+tool, scenario.Settings{}, func(t *testing.T, w *world) {
				w.give("app", "1")
				w.deploy("web", annotations, "app")
				w.settled()
				w.edited("2", 1)
				restart := func() {
					w.stop()
					if c.forget {
						w.forget()
					}
					w.stream.forget()
				}
				restart()
				w.keys = []digest.Key{key(2), key(1)}[:map[bool]int{true: 1, false: 2}[c.keyLost]]
				if !c.keyLost {
					w.start()
					w.pass(time.Hour)
					w.rolled(web, 1)
					restart()
				}
				w.edit(alice, app, "1") // while nobody looks
				w.start()
				w.pass(time.Hour)
				w.rolled(web, 1+c.missed)
				w.edited("3", 2+c.missed)
			})
		}
	}
}

// backup is what etcd held at one moment, the ledger included.
type backup struct {
	ledger    map[reloader.WorkloadRef]string
	objects   map[scenario.Ref]scenario.Typed
	templates templates
	serial    int
}

// backUp returns what is in etcd now.
func (w *world) backUp() backup {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	return backup{maps.Clone(w.ledger.entries), deepCopies(c.objects), maps.Clone(c.templates), c.serial}
}

func deepCopies(objects map[scenario.Ref]scenario.Typed) map[scenario.Ref]scenario.Typed {
	copied := maps.Clone(objects)
	for ref, obj := range copied {
		copied[ref] = obj.DeepCopyObject().(scenario.Typed)
	}
	return copied
}

// restore puts etcd back: versions, generations and contents are those of then, and versions are given a second time. The watch lists
// everything again; nobody audits that. Pods of workloads whose template went back start again, with the content of then.
func (w *world) restore(b backup) {
	w.ledger.mu.Lock()
	w.ledger.entries = maps.Clone(b.ledger)
	w.ledger.mu.Unlock()
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, before := c.objects, c.templates
	c.objects, c.templates, c.serial = deepCopies(b.objects), maps.Clone(b.templates), b.serial
	for ref := range objects {
		if _, there := c.objects[ref]; !there {
			c.tell(ref)
		} else if c.templates[ref].revision != before[ref].revision {
			c.started[ref] = time.Now()
		}
	}
	for ref := range c.objects {
		c.tell(ref)
	}
}

// TestEtcdRestored: etcd goes back between two dispatchers, and with it contents, generations, resource versions and the ledger. A workload whose
// mark went back with its config is not rolled, and every edit after that rolls once. A dispatcher that runs must be restarted after a restore.
func TestEtcdRestored(t *testing.T) {
	for name, rolls := range map[string]int64{"to a roll": 1, "to a time before any mark": 0} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.SweepInterval = 10 * time.Minute }
			w.usually()
			w.editTimes(rolls)
			old := w.backUp()
			w.editTimes(3)
			w.rolled(web, rolls+3)
			w.stop()
			w.restore(old)
			w.start()
			w.pass(15 * time.Minute)
			w.rolled(web, rolls)
			w.editTimes(4)
			w.rolled(web, rolls+4)
		})
	}
}

// editTimes edits app n times, far enough apart that each of the contents, which no edit has made before, is rolled.
func (w *world) editTimes(n int64) {
	w.t.Helper()
	for range n {
		w.edit(alice, app, time.Now().String())
		w.pass(quiet)
	}
}
