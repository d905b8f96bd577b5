package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// decider decides about dependencies, and reads what that takes.
type decider struct{ *looker }

// decide decides about the configs of s. One that cannot be read has no verdict, and rests; the others do not wait for it. It returns the error of one of those.
func (d *decider) decide(ctx context.Context, s *sitting) (failed error) {
	s.verdicts = map[reloader.Config]plan.Verdict{}
	pods := sync.OnceValues(func() (*workload.Pods, error) {
		pods, err := d.Workloads.Pods(ctx, s.w)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read pods of %s: %w", s.w.Ref(), err)
		}
		return &pods, nil
	})
	// In another order each time, as a map has it: workloads that depend on the same thousand configs would otherwise wait for each other at every
	// one of them, since one look at a time serves all.
	for c := range s.configs {
		v, err := d.decideOne(ctx, s, c, pods)
		if err != nil {
			failed = err
			d.lock().postpone(s.t, c, err)
			d.unlock()
			continue
		}
		d.answered.Store(true)
		s.verdicts[c] = v
	}
	return failed
}

// maxAsks is how many kinds of evidence one decision may ask for, and a few more.
const maxAsks = 8

// decideOne asks for a verdict until it needs no more evidence.
func (d *decider) decideOne(ctx context.Context, s *sitting, c reloader.Config, pods readPods) (plan.Verdict, error) {
	f, err := d.lookFor(ctx, s, c, false)
	if err != nil {
		return plan.Verdict{}, err
	}
	k, err := d.caseOf(ctx, s, c, f)
	for range maxAsks {
		if err != nil {
			return plan.Verdict{}, err
		}
		v := plan.Decide(k)
		d.Logger.Debug("decided", "workload", s.w.Ref().String(), "config", c.String(), "rule", v.Rule, "do", v.Do, "reason", v.Reason, "need", v.Need, "entry", k.Entry, "live", k.Live.Write)
		if v.Do != plan.Ask {
			return v, nil
		}
		k, err = d.add(ctx, s, k, v, pods)
	}
	return plan.Verdict{}, fmt.Errorf("decide about %s: no evidence is enough", c)
}

// caseOf returns what is known about c; f is the newest look.
func (d *decider) caseOf(ctx context.Context, s *sitting, c reloader.Config, f fact) (plan.Case, error) {
	k := d.lock().caseOf(s.t, s.w, c, f)
	d.unlock()
	if !k.Live.Absent() || !k.Counting.Deletion || !k.Known || k.Entry.Absent() {
		return k, nil
	}
	ending, err := d.Configs.Terminating(ctx, c.Namespace)
	if err != nil {
		return k, fmt.Errorf("read namespace %s: %w", c.Namespace, err)
	}
	k.Counting.Deletion = !ending
	return k, nil
}

// caseOf returns what is known about c and t, as w has it.
func (b *board) caseOf(t *tracked, w *workload.Workload, c reloader.Config, f fact) plan.Case {
	decision := t.decide(c, f)
	k := plan.Case{
		Config: c, Live: t.live(c, f), Counting: t.counting(c, f),
		Wanted: decision.Reload || !t.shows(c, f), // what is not shown is absent
		Why:    decision.Why, AsOf: t.state.AsOf(), Dormant: w.Dormant,
		Ours: t.marked(w),
	}
	k.Entry, k.Known = t.state.Writes.Find(c)
	if c.Namespace != w.Namespace && k.Known && k.Entry.Absent() && f.Created.Before(k.AsOf.Truncate(time.Second)) {
		k.Live.Created, k.Live.DataWritten = time.Time{}, time.Time{} // writes before it was shared do not concern the workload
	}
	k.First = plan.FirstOf(w, c, b.states.born)
	k.First.Taken = taken(w, f)
	if k.Live.Shrunk = k.First.Taken; k.Known {
		e := b.configs.of(c)
		k.Live.Shrunk = shrunk(e, e.last(b.Cluster, c), k)
	}
	if !slices.Contains(t.plan.Names, c) {
		k.First.Listed = t.state.Listed
	}
	if e := t.edges.Get(c); e != nil && e.unwanted != "" && e.unwanted == k.Live.Sum {
		k.First.Mark = plan.MarkEqual // it had that content before it counted
	}
	return k
}

// looks returns the looks at c for t.
func (b *board) looks(t *tracked, c reloader.Config) (looks []applied.Live) {
	e := b.configs.of(c)
	for _, l := range append(slices.Clone(e.past), e.now) { // by the metadata of now it is decided whether and how they count
		l.Annotations, l.Labels, l.Unselected = e.now.Annotations, e.now.Labels, e.now.Unselected
		looks = append(looks, t.live(c, l))
	}
	return looks
}

// shrunk reports whether a key may have been taken away since the entry of k was made: managed fields keep no time of that.
func shrunk(e *entry, last reloader.Change, k plan.Case) bool {
	if last.Type != reloader.ChangeUpdated || last.ResourceVersion != e.now.ResourceVersion || k.Entry.Sum == "" || !strings.HasPrefix(last.Old.Sum, k.Entry.Sum) {
		return true
	}
	return len(last.Keys) == 0 || slices.ContainsFunc(last.Keys, func(c reloader.KeyChange) bool { return c.Op == reloader.KeyRemoved })
}

// taken reports whether something was removed from a config since w. Managed fields keep no time of a removal: it has a later version than w, and
// no field was given a value since.
func taken(w *workload.Workload, f fact) bool {
	newer := applied.CompareVersions(f.ResourceVersion, w.ResourceVersion) > 0
	return !f.absent && !f.touched.IsZero() && newer && f.Written.Before(w.LastWritten.Truncate(time.Second))
}

// errHidden stands for an error that a workload must not show.
var errHidden = errors.New("it cannot be read")

// lookFor returns the newest look at c for the workload of s. What it may not see of another namespace and cannot be read for a reason that does not
// pass is nothing to it but a config that does not exist, unless it was shown before. The error would reveal that the config exists: anyone who runs the
// cluster finds it in the log.
func (d *decider) lookFor(ctx context.Context, s *sitting, c reloader.Config, whole bool) (fact, error) {
	f, err := d.current(ctx, c, s.after, whole)
	b := d.lock()
	defer d.unlock()
	if err == nil || s.t.shows(c, b.configs.of(c).now) {
		return f, err
	}
	d.Logger.Warn("a config of another namespace cannot be read", "workload", s.w.Ref().String(), "config", c.String(), "error", err)
	if w := s.t.state.Writes.Get(c); (fateOf(err) == fateNever || apierrors.IsInternalError(err)) && (w.Out || w.Absent()) {
		return fact{absent: true, began: s.began, seen: s.began}, nil
	}
	return fact{}, errHidden
}

// The pauses after a config could not be decided about.
const firstRest, longestRest = 100 * time.Millisecond, 30 * time.Second

// postpone has c not tried again for t for a while, after an error.
func (b *board) postpone(t *tracked, c reloader.Config, err error) {
	e := t.edges.Get(c)
	if e == nil {
		return
	}
	wait := min(longestRest, firstRest<<min(e.tries, 20))
	if e.tries++; e.tries == 1 {
		b.recordQ.AddAfter(t.w.Ref(), recordDelay)
	}
	if fateOf(err) == fateNever {
		wait, e.tries = retryRefused, maxTries
		b.answered.Store(true)
	}
	e.rest = time.Now().Add(wait)
	b.Logger.Warn("a config could not be decided about", "workload", t.w.Ref().String(), "config", c.String(), "error", err)
}

// readPods reads the pods of a workload once.
type readPods = func() (*workload.Pods, error)

// add returns k with the evidence that v asks for.
func (d *decider) add(ctx context.Context, s *sitting, k plan.Case, v plan.Verdict, pods readPods) (_ plan.Case, err error) {
	switch v.Need {
	case plan.NeedContent:
		f, err := d.current(ctx, k.Config, time.Now(), true)
		if err != nil {
			return k, err
		}
		return d.caseOf(ctx, s, k.Config, f)
	case plan.NeedMarks:
		k.First.Mark, err = d.markSays(ctx, s, k.Config)
		return k, err
	case plan.NeedLooks:
		defer d.unlock()
		k.Looks = d.lock().looks(s.t, k.Config)
		return k, nil
	case plan.NeedPods:
		if v.Rule == "podsNewer" && !d.mayBeNewer(s, k) {
			k.Pods = &workload.Pods{}
			return k, nil
		}
		k.Pods, err = pods()
		return k, err
	}
	return k, fmt.Errorf("no such evidence: %s", v.Need)
}

// mayBeNewer reports whether all pods may have started since the content of k was there: the workload was written since or in the same second, it changed
// while no process ran, or the pods wait for a config or a key that was not there.
// Otherwise to ask for the pods would only cost a request for each roll.
func (d *decider) mayBeNewer(s *sitting, k plan.Case) bool {
	hot := s.plan.Chosen.Hot != nil && d.restarts(s.plan, k.Config) == "" // each pod is looked at: files are older than the start of a container can be
	if s.w.Roll() != workload.InPlace || d.instead() == reloader.ReasonNotified || hot {
		return false
	}
	written := s.w.LastWritten
	if k.Known && k.Entry.Absent() {
		return true // pods may have waited for it
	}
	before := d.lock().configs.of(k.Config).last(d.Cluster, k.Config).Old
	d.unlock()
	if r := s.w.Template.References.Get(k.Config); r != nil && len(dialect.MissingKeys(r, before)) > 0 {
		return true
	}
	ready := d.ready.Load()
	return ready == nil || k.Live.Seen.Before(*ready) || !k.Live.DataWritten.IsZero() && !written.Before(k.Live.DataWritten.Truncate(time.Second)) || written.After(k.Live.Seen)
}
