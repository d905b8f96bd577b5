package dispatcher_test

import (
	"maps"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

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
// everything anew; nobody audits that. Pods of workloads whose template went back start anew, with the content of then.
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
// mark went back with its config is not rolled, and every edit after that rolls once. A dispatcher that runs is to be restarted after a restore.
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
