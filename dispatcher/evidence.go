package dispatcher

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A process may end, or not hear an answer, between a patch and its record, and other tools and people write workloads, too. What a
// workload runs with is therefore never taken from the record alone: this file reads what is written on the workload itself.

// LastReloadAnnotation on a workload's metadata names the reload that last changed its template. A process that finds there the ID
// of what it is about to do knows that it was done already.
const LastReloadAnnotation = strategy.LastReloadKey

// BroughtAnnotation beside it says to which version of each config the template was brought, newest last. Content that comes back later
// is another version, so that nothing that was brought back, as by a rollback, is taken for what is to be done now.
const BroughtAnnotation = strategy.BroughtKey

// evidence is what a workload says about one of its configs.
type evidence struct {
	// mark is the mark of the dialect speaker that the template carries for the config, if marked.
	mark    string
	marked  bool
	speaker *dialect.Dialect
	// brought is the version of the config that BroughtAnnotation of target tells; empty if it does not.
	brought string
	target  *workload.Workload
	// others says that somebody marked the workload since the last reload that is on record: another tool, or a process that ended before
	// it could record it. fresh says that this is proved by the time of the mark or by who wrote it, and died that it was such a process.
	others, fresh, died bool
	// disproved says that pods have started while the config had other content than the one to which the workload was brought.
	disproved bool
	// markedAt is when the workload was marked, and written when it was written last, by the API server's clock; zero if it does not say.
	markedAt, written time.Time
}

// evidence returns what w, a version of t's workload, says about c. The caller holds mu.
func (d *Dispatcher) evidence(t *tracked, w *workload.Workload, c reloader.Config) evidence {
	target := d.strategyOf(w).Target(w)
	e := evidence{brought: strategy.BroughtVersion(target, c), target: target, markedAt: target.MarkedAt, written: target.LastWritten}
	e = d.voiced(e, w, c, d.facts[c])
	e.others = d.othersMarked(t, w)
	e.fresh = target.MarkedAt.After(t.markedAt) && (!t.markedAt.IsZero() || d.reloadOn(w) == "") || t.unclaimed(target)
	never := t.markedAt.IsZero() && len(t.recent) == 0
	e.died = d.reloadOn(w) != "" && (e.fresh || never) // a reload on record may have the same name: content that comes back has it
	return e
}

// othersMarked reports whether w, a version of t's workload, was marked by somebody since the last reload that is on record. The caller
// holds mu.
func (d *Dispatcher) othersMarked(t *tracked, w *workload.Workload) bool {
	last, target := d.reloadOn(w), d.strategyOf(w).Target(w)
	return last != "" && !slices.Contains(t.recent, last) || target.MarkedAt.After(t.markedAt) || t.unclaimed(target)
}

// unclaimed reports whether target, which carries the marks of a version of t's workload, names a reload that is not the last on record
// although it is we who wrote that name. A rollback brings such names back, too, but not in our name. So it tells also within the second of
// a reload that is on record. The caller holds mu.
func (t *tracked) unclaimed(target *workload.Workload) bool {
	last := target.Annotations[LastReloadAnnotation]
	return target.Signed && last != "" && last != t.lastReload && !target.MarkedAt.Before(t.markedAt)
}

// contradicts reports whether somebody who did not record it brought the workload to other content than h says. hash is the mark of
// the content that is live, and version that of its latest change.
func (e evidence) contradicts(h reloader.Handled, hash, version string) bool {
	if !e.others && !e.unsaid(h) {
		return false
	}
	return e.marked && e.mark != h.Mark && e.mark != hash || e.brought != "" && e.brought != h.Brought && e.brought != version
}

// unreadable reports whether the mark was made under a digest key that is there no more, as after the key was lost, or the workload restored
// into another cluster: then nobody can tell what it was made of.
func (e evidence) unreadable(ring *digest.Ring) bool {
	keyID := dialect.KeyOf(e.mark)
	return e.marked && keyID != "" && !ring.Knows(keyID)
}

// unsaid reports whether a process that ended before it could record it brought the workload to the version of the config that the workload
// tells of, and not a rollback, which brings what the workload tells back as well.
func (e evidence) unsaid(h reloader.Handled) bool {
	return e.brought != "" && e.brought != h.Brought && (e.died || e.brought == h.Unsaid)
}

// keepUnsaid notes what ended processes did to w, a version of t's workload, and did not record, before what proves it is overwritten: a
// roll for other configs is about to be on record. The caller holds mu.
func (d *Dispatcher) keepUnsaid(t *tracked, w *workload.Workload) {
	for c := range t.edges {
		h := t.handled[c]
		if e := d.evidence(t, w, c); e.unsaid(h) && h.How != "" {
			h.Unsaid = e.brought
			t.handled[c] = h
		}
	}
}

// proves reports whether the workload was brought to the latest change already, whose mark is mark.
func (e evidence) proves(mark string, h reloader.Handled, f fact, latest reloader.Change) bool {
	return e.provesVersion(f, latest) || !e.disproved && e.provesContent(mark, h, f, latest)
}

// provesVersion reports whether the workload was brought to what is live, as it was written then.
func (e evidence) provesVersion(f fact, latest reloader.Change) bool {
	if e.brought == versionOf(latest) {
		return true
	}
	if e.brought != "" && e.brought == strategy.Version(latest.Config, f.UID, f.ResourceVersion, f.digest.Sum) {
		return true // the admission webhook has read a later version of the same content
	}
	return false
}

// provesContent reports whether the workload was brought to the content of the latest change, be it before that went away and came back.
func (e evidence) provesContent(mark string, h reloader.Handled, f fact, latest reloader.Change) bool {
	if e.unsaid(h) && strategy.BroughtTo(e.target, latest.Config, sumAfter(latest)) {
		return true // the content was another one meanwhile, to which nobody brought the workload
	}
	return e.marked && e.mark == mark && h.Mark != mark && (e.fresh || e.others && e.since(f, latest))
}

// since reports whether the workload was marked no earlier than its config's content became what it is, so that its mark can have been made
// of it. An older mark is equal by collision or was brought back by a rollback. Kubernetes tells both times by the second. If nobody says
// when the workload was marked, its last write counts, and if nobody says when the content changed, any mark does: that it was written
// again as it was, as after a deletion, is no change.
func (e evidence) since(f fact, latest reloader.Change) bool {
	if latest.Type != reloader.ChangeUpdated {
		return true
	}
	content := contentTime(f, latest)
	if e.markedAt.IsZero() {
		return e.written.After(content)
	}
	return !e.markedAt.Before(content)
}

// contentTime returns when the content of f was there at the latest, by the second: the earliest of the times that are known. Each of them
// may be too late, as the managed fields have one time for all that a manager wrote, be it a label, and many hints lead to one look.
func contentTime(f fact, latest reloader.Change) time.Time {
	content := f.DataWritten
	for _, at := range []time.Time{latest.VerifiedAt, latest.RequestedAt} {
		if at = at.Truncate(time.Second); !at.IsZero() && (content.IsZero() || at.Before(content)) {
			content = at
		}
	}
	return content
}

// voiced returns e with the mark that w carries for c, of which f is known.
func (d *Dispatcher) voiced(e evidence, w *workload.Workload, c reloader.Config, f fact) evidence {
	e.speaker = d.speaker(w, c, f)
	e.mark, e.marked = d.carried(w, c, e.speaker)
	return e
}

// carried returns the mark of a dialect that w carries for c, and whether it carries one. What stands in the template of a CronJob is no
// mark: the Jobs that are made of it carry theirs. For configs of other clusters there are no marks.
func (d *Dispatcher) carried(w *workload.Workload, c reloader.Config, dl *dialect.Dialect) (string, bool) {
	if w.Roll() == workload.NewJob || c.Cluster != "" {
		return "", false
	}
	return d.strategyBy(w, dl).Current(w, c)
}

// reloadOn returns the reload that w says has rolled it last; empty if it does not say.
func (d *Dispatcher) reloadOn(w *workload.Workload) string {
	return d.strategyOf(w).Target(w).Annotations[LastReloadAnnotation]
}

// broughtTo returns what BroughtAnnotation is to say about target after steps.
func broughtTo(target *workload.Workload, steps []step) string {
	text := target.Annotations[BroughtAnnotation]
	for _, s := range steps {
		text = strategy.BroughtWith(text, s.config, versionOf(s.latest), sumAfter(s.latest))
	}
	return text
}

// broughtEntry is what BroughtAnnotation says about a workload that was brought to c.
func broughtEntry(c reloader.Change) string { return strategy.BroughtEntry(c.Config, versionOf(c)) }

// broughtOf returns the version of c to which w, or what rolls it, says that it was brought; empty if it does not say.
func (d *Dispatcher) broughtOf(w *workload.Workload, c reloader.Config) string {
	return strategy.BroughtVersion(d.strategyOf(w).Target(w), c)
}

// versionOf identifies the content that c leaves and the write that left it. Unlike the ID of c it does not depend on what was there before,
// which a process whose state was lost does not know.
func versionOf(c reloader.Change) string {
	return strategy.Version(c.Config, c.UID, c.ResourceVersion, sumAfter(c))
}
