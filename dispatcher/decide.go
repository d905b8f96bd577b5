package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// decide decides about the configs of s. One that cannot be read has no verdict, and rests; the others do not wait for it. It returns the first error.
func (d *Dispatcher) decide(ctx context.Context, s *sitting) (map[reloader.Config]plan.Verdict, error) {
	verdicts := map[reloader.Config]plan.Verdict{}
	evidence := &evidence{d: d, s: s}
	var failed error
	for _, c := range inTurn(s.w.Ref(), s.configs) {
		v, err := d.decideOne(ctx, s, c, evidence)
		if err != nil {
			failed = cmp.Or(failed, err)
			d.rest(s.t, c, err)
			continue
		}
		d.sweeper.answered.Store(true)
		verdicts[c] = v
	}
	return verdicts, failed
}

// maxAsks is how many kinds of evidence one decision may ask for, and a few more.
const maxAsks = 8

// decideOne asks for a verdict until it needs no more evidence.
func (d *Dispatcher) decideOne(ctx context.Context, s *sitting, c reloader.Config, ev *evidence) (plan.Verdict, error) {
	f, err := d.current(ctx, c, s.after, false)
	if err != nil && d.asAbsent(s.t, c, err) {
		f, err = fact{absent: true, began: s.began, seen: s.began}, nil
	}
	if err != nil {
		return plan.Verdict{}, d.concealed(s.t, c, err)
	}
	k, err := d.caseOf(ctx, s, c, f)
	for range maxAsks {
		if err != nil {
			return plan.Verdict{}, err
		}
		v := plan.Decide(k)
		d.Logger.Debug("decided", "workload", s.w.Ref().String(), "config", c.String(), "rule", v.Rule, "do", v.Do, "reason", v.Reason, "need", v.Need, "entry", k.Entry, "live", k.Live.Write)
		if v.Do != plan.Ask {
			return v, d.begins(k, v)
		}
		k, err = ev.add(ctx, k, v)
	}
	return plan.Verdict{}, fmt.Errorf("decide about %s: no evidence is enough", c)
}

// caseOf returns what is known about c, of which f is the newest look.
func (d *Dispatcher) caseOf(ctx context.Context, s *sitting, c reloader.Config, f fact) (plan.Case, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := s.t
	decision := t.plan.Decide(d.metaOf(c, f))
	k := plan.Case{
		Config: c, Wanted: decision.Reload, Why: decision.Why, AsOf: t.state.AsOf(),
		Live: d.liveOf(t, c, f), Counting: d.counting(t, c, f), Dormant: s.w.Dormant,
	}
	k.Entry, k.Known = t.state.Writes[c]
	if !d.shows(t, c, f) {
		k.Wanted = true // it is absent, and nothing more is to be told
	}
	if c.Namespace != s.w.Namespace && k.Known && k.Entry.Absent() && f.Created.Before(k.AsOf.Truncate(time.Second)) {
		k.Live.Created, k.Live.DataWritten = time.Time{}, time.Time{} // what was written while it was not shown is nothing to the workload
	}
	e := d.entry(c)
	for _, l := range append(slices.Clone(e.past), e.now) {
		k.Looks = k.Looks.Add(l.began, d.liveOf(t, c, d.asNow(l, e.now)))
	}
	k.First = plan.FirstOf(s.w, c, d.states.born)
	k.First.Taken = taken(s.w, f)
	k.First.Joined = !k.AsOf.IsZero() && k.AsOf.Before(k.First.Written)
	if k.Live.Shrunk = k.First.Taken; k.Known {
		k.Live.Shrunk = shrunk(e, k)
	}
	if !slices.Contains(t.plan.Names, c) {
		k.First.Listed = t.state.Listed
	}
	if e := t.edges[c]; e != nil && !e.unwanted.Absent() && e.unwanted.KeyID == k.Live.KeyID && e.unwanted.Sum == k.Live.Sum {
		k.First.Mark = applied.MarkEqual // it had that content before it counted
	}
	if k.Live.Absent() && k.Counting.Deletion && k.Known && !k.Entry.Absent() {
		d.mu.Unlock()
		ending, err := d.Configs.Terminating(ctx, c.Namespace)
		d.mu.Lock()
		if err != nil {
			return k, fmt.Errorf("read namespace %s: %w", c.Namespace, err)
		}
		k.Ending = ending
	}
	return k, nil
}

// asNow returns l, an earlier look, with the metadata of now by which it is decided whether and how it counts.
func (d *Dispatcher) asNow(l, now fact) fact {
	l.Annotations, l.Labels, l.Unselected = now.Annotations, now.Labels, now.Unselected
	return l
}

// shrunk reports whether a key may have been taken away since the entry of k was made: managed fields keep no time of that.
func shrunk(e *entry, k plan.Case) bool {
	last := e.last.Change
	if last.Type != reloader.ChangeUpdated || last.ResourceVersion != e.now.ResourceVersion || k.Entry.Sum == "" || !strings.HasPrefix(last.Old.Sum, k.Entry.Sum) {
		return true
	}
	return len(last.Keys) == 0 || slices.ContainsFunc(last.Keys, func(c reloader.KeyChange) bool { return c.Op == reloader.KeyRemoved })
}

// taken reports whether something was taken away from a config since w was written, of which managed fields keep no time: it has a later version than w, and
// nobody has given anything of it a value since.
func taken(w *workload.Workload, f fact) bool {
	return !f.absent && !f.touched.IsZero() && newerVersion(f.ResourceVersion, w.ResourceVersion) && f.Written.Before(plan.WrittenAt(w).Truncate(time.Second))
}

// begins returns an error if v lets a workload begin with what the owner of a config of another cluster told to somebody who asked earlier.
func (d *Dispatcher) begins(k plan.Case, v plan.Verdict) error {
	if k.Config.Cluster == "" || k.Known && !k.Entry.Out || v.Do != plan.Note {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entry(k.Config).now.unanswered
}

// asAbsent reports whether c, which cannot be read for a reason that does not pass, is nothing to t but a config that does not exist: it is of another
// namespace, and was never known to be shown to t.
func (d *Dispatcher) asAbsent(t *tracked, c reloader.Config, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Cluster != "" || c.Namespace == t.w.Namespace || d.shows(t, c, d.entry(c).now) || fateOf(err) != fateNever && !apierrors.IsInternalError(err) {
		return false
	}
	w, known := t.state.Writes[c]
	return !known || w.Out || w.Absent()
}

// errHidden stands for an error that is not to be told on a workload.
var errHidden = errors.New("it cannot be read")

// concealed returns err, or what may be told of it on t: that a config of another namespace cannot be read would tell that it exists. Whoever runs the
// cluster finds it in the log.
func (d *Dispatcher) concealed(t *tracked, c reloader.Config, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Cluster != "" || c.Namespace == t.w.Namespace || d.shows(t, c, d.entry(c).now) {
		return err
	}
	d.Logger.Warn("a config of another namespace cannot be read", "workload", t.w.Ref().String(), "config", c.String(), "error", err)
	return errHidden
}

// The pauses after a config could not be decided about.
const firstRest, longestRest = 100 * time.Millisecond, 30 * time.Second

// rest has c not tried again for t for a while, after an error.
func (d *Dispatcher) rest(t *tracked, c reloader.Config, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := t.edges[c]
	if e == nil {
		return
	}
	wait := min(longestRest, firstRest<<min(e.tries, 20))
	if e.tries++; e.tries == 1 {
		d.recordQ.AddAfter(t.w.Ref(), recordDelay)
	}
	if fateOf(err) == fateNever {
		wait, e.tries = retryRefused, maxTries
		d.sweeper.answered.Store(true)
	}
	e.rest = time.Now().Add(wait)
	d.Logger.Warn("a config could not be decided about", "workload", t.w.Ref().String(), "config", c.String(), "error", err)
}

// maxTries is after how many failures in a row a dependency is taken for one that has trouble of its own, so that nothing else waits for it.
const maxTries = 6

// inTurn sorts the configs of a workload, and has each workload begin at another one: workloads that depend on the same thousand configs would
// otherwise wait for each other at every one of them, since one look at a time serves all.
func inTurn(ref reloader.WorkloadRef, configs map[reloader.Config]int) []reloader.Config {
	sorted := slices.SortedFunc(maps.Keys(configs), compareConfigs)
	if len(sorted) == 0 {
		return nil
	}
	begin := int(hashOf(ref.String()) % uint32(len(sorted)))
	return slices.Concat(sorted[begin:], sorted[:begin])
}

// evidence reads what decisions about one workload ask for, each thing once.
type evidence struct {
	d    *Dispatcher
	s    *sitting
	pods *applied.Pods
}

// add returns k with the evidence that v asks for.
func (ev *evidence) add(ctx context.Context, k plan.Case, v plan.Verdict) (plan.Case, error) {
	d, s := ev.d, ev.s
	switch v.Need {
	case applied.NeedContent:
		f, err := d.current(ctx, k.Config, time.Now(), true)
		if err != nil {
			return k, err
		}
		return d.caseOf(ctx, s, k.Config, f)
	case applied.NeedMarks:
		var err error
		k.First.Mark, err = d.markSays(ctx, s, k.Config)
		return k, err
	case applied.NeedTemplate:
		d.mu.Lock()
		defer d.mu.Unlock()
		k.Template = &plan.Template{Ours: d.ownTemplate(s), Changed: plan.WrittenAt(s.w)}
		return k, nil
	case applied.NeedPods:
		if v.Rule == "podsNewer" && !d.mayBeNewer(s, k) {
			k.Pods = &applied.Pods{}
			return k, nil
		}
		if ev.pods == nil {
			pods, err := d.Workloads.Pods(ctx, s.w)
			if err != nil && !apierrors.IsNotFound(err) {
				return k, fmt.Errorf("read pods of %s: %w", s.w.Ref(), err)
			}
			ev.pods = plan.PodsOf(pods)
		}
		k.Pods = ev.pods
		return k, nil
	}
	return k, fmt.Errorf("no such evidence: %s", v.Need)
}

// mayBeNewer reports whether all pods may have started since the content of k was there: the workload was written since, it changed while no process ran, or
// the pods wait for a config that was not there.
// Otherwise to ask for the pods would only cost a request for each roll.
func (d *Dispatcher) mayBeNewer(s *sitting, k plan.Case) bool {
	if s.w.Roll() != workload.InPlace || d.instead() != reloader.ReasonReloaded {
		return false
	}
	written := plan.WrittenAt(s.w)
	if k.Known && k.Entry.Absent() {
		return true // pods may have waited for it
	}
	return k.Live.Seen.Before(d.readyAt()) || !k.Live.DataWritten.IsZero() && written.After(k.Live.DataWritten) || written.After(k.Live.Seen)
}

// ownTemplate reports whether the pod template carries the mark of the last roll, or nothing was rolled. The caller holds mu.
func (d *Dispatcher) ownTemplate(s *sitting) bool {
	t := s.t
	if t.state.N == 0 || s.w.Roll() != workload.InPlace || t.plan.Chosen.Strategy == plan.Restart || d.Webhook != nil {
		return true
	}
	return t.object.N == t.state.N && s.w.Template.Annotations[workload.HashKey] == t.object.Mark
}
