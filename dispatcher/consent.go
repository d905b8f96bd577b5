package dispatcher

import (
	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// A workload can name a config of another namespace, and whoever writes the workload need not be allowed to see that config. Its metadata says
// whether it is shown to the workload (see dialect.ShareKey). Until it does, the config is absent as far as that workload is concerned: its
// record, its marks and its reloads are those of a workload that names a config which does not exist. If a config is shown to nobody who
// names it, only its metadata is read, and nothing is recorded of it.

// shows reports whether t may know anything of c, of which f is known.
func (d *Dispatcher) shows(t *tracked, c reloader.Config, f fact) bool {
	return t.plan.Shows(d.metaOf(c, f))
}

func (d *Dispatcher) metaOf(c reloader.Config, f fact) dialect.ConfigMeta {
	m := dialect.ConfigMeta{Config: c, Annotations: f.Annotations, Labels: f.Labels, Unselected: f.Unselected}
	if c.Cluster == "" && fleet.Allows(f.Meta, d.Cluster) {
		m.Follows = d.Cluster
	}
	return m
}

// forNobody reports whether the content of c, which has that metadata, is not to be read: workloads of other namespaces name it, and it is shown
// to none of them, nor to a cluster that follows it. What nothing names any more was shown to whoever asked before.
func (d *Dispatcher) forNobody(c reloader.Config, meta live.Meta) bool {
	if d.fleet.Lets(c, meta) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.index.byConfig[c] {
		if d.shows(t, c, fact{Meta: meta}) {
			return false
		}
	}
	return len(d.index.byConfig[c]) > 0
}

// publicOf returns what the record of t may say of c, of which f is known: of a config of another namespace that is absent, no more than of one that
// is not shown.
func publicOf(t *tracked, c reloader.Config, f fact) fact {
	if f.absent && c.Cluster == "" && c.Namespace != t.w.Namespace {
		return fact{}
	}
	return f
}
