package dispatcher

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A workload can name a config of another namespace, and whoever writes the workload need not be allowed to see that config. Its metadata says
// whether it is shown to the workload (see dialect.ShareKey). Until it does, the config is absent as far as that workload is concerned: its
// record, its marks and its reloads are those of a workload that names a config which does not exist. If a config is shown to nobody who
// names it, only its metadata is read, and nothing is recorded of it.

// errUnread is that of a config that became known to a workload just after it was left unread for others.
var errUnread = errors.New("its content has not been read yet")

// shows reports whether w may know anything of c, of which f is known.
func (d *Dispatcher) shows(w *workload.Workload, c reloader.Config, f fact) bool {
	return d.planOf(w).Shows(d.metaOf(c, f))
}

// shown returns what w may know of c, of which f is known: that it is absent, unless it is shown to w.
func (d *Dispatcher) shown(w *workload.Workload, c reloader.Config, f fact) (fact, error) {
	switch {
	case !d.shows(w, c, f):
		return fact{absent: true, unread: true, at: f.at, seen: f.seen}, nil
	case f.unread && !f.absent:
		return fact{}, errUnread
	}
	return f, nil
}

// forNobody reports whether the content of c, which has that metadata, is not to be read: workloads of other namespaces name it, and it is shown
// to none of them, nor to a cluster that follows it. What nothing names any more was shown to whoever asked before.
func (d *Dispatcher) forNobody(c reloader.Config, meta live.Meta) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	dependents := d.index.byConfig[c]
	if len(dependents) == 0 || d.exports[c] != nil && d.exports[c].lets(meta) {
		return false
	}
	for _, t := range dependents {
		if d.shows(t.w, c, fact{Meta: meta}) {
			return false
		}
	}
	return true
}

// ownDependents reports whether a workload in the namespace of c depends on it.
func (d *Dispatcher) ownDependents(c reloader.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref := range d.index.byConfig[c] {
		if ref.Namespace == c.Namespace {
			return true
		}
	}
	return false
}

// onRecord returns what the record of w may say of c, of which f is known: of a config of another namespace that is absent, no more than of one
// that is not shown.
func onRecord(w *workload.Workload, c reloader.Config, f fact) fact {
	if f.absent && c.Cluster == "" && c.Namespace != w.Namespace {
		return fact{}
	}
	return f
}

// concealed reports whether err, which a read of c has met, is not to be told on w: it would tell whether c exists. Whoever runs the cluster finds it
// in the log.
func (d *Dispatcher) concealed(w *workload.Workload, c reloader.Config, err error) bool {
	if fateOf(err) != fateNever && !apierrors.IsInternalError(err) {
		return false
	}
	d.mu.Lock()
	hidden := !d.shows(w, c, d.facts[c])
	d.mu.Unlock()
	if hidden {
		d.Logger.Warn("a config of another namespace cannot be read", "workload", w.Ref().String(), "config", c.String(), "error", err)
	}
	return hidden
}

// consented takes note that what t may know of c has changed, from what before says to what f says. What was written to c while it was not shown
// is no change for t, as far as it was certainly written before. The caller holds mu.
func (d *Dispatcher) consented(t *tracked, c reloader.Config, before, f fact) {
	was, is := !before.absent && d.shows(t.w, c, before), !f.absent && d.shows(t.w, c, f)
	ref := t.w.Ref()
	switch {
	case before.absent && f.absent || was == is:
	case was && !f.absent:
		delete(t.pending, c)
		d.settleQ.Add(ref)
		d.flushQ.Add(ref) // nothing may be left to wait for
	case is && !before.absent && t.handled[c].How != "" && unwritten(before, f):
		h := t.handled[c]
		h.KeyID, h.Sum, h.How, h.At = f.digest.KeyID, f.digest.Sum, reloader.ReasonBaseline, f.seen
		t.handled[c] = h
		d.settleQ.Add(ref)
	case is && !before.absent:
		d.unsettle(t, c)
	}
}

// unwritten reports whether the data of a config is certainly what it was when before was found, or was written before it was shown: Kubernetes
// tells all times by the second.
func unwritten(before, f fact) bool {
	switch {
	case !before.digest.IsZero() && before.digest.Equal(f.digest):
		return true
	case f.DataWritten.IsZero():
		return false
	}
	return f.DataWritten.Before(before.at.Truncate(time.Second)) || f.DataWritten.Equal(before.DataWritten) && f.Written.After(f.DataWritten)
}
