package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A reload of running pods takes longer than a step of attend: pods are asked soon after their kubelets were made to refresh the volumes, and once more
// after the longest time that a kubelet takes. It is noted as done only after that, so a process that ends before has the next one ask again. From the first
// call on, the entry of each config in the ledger is one that no content equals: pods may have read content that is gone by the time of a crash.

const (
	// firstCall is how long a kubelet that was made to refresh volumes has for that before its pod is asked, but no more than a quarter of the
	// longest time.
	firstCall = 2 * time.Second
	// patience is how long after the last call was due a pod is asked that fails, and callPause how long after it failed.
	patience, callPause = 30 * time.Second, 10 * time.Second
	// askTime bounds the calls of one step of attend, and maxAsking how many pods of a workload are asked at once.
	askTime, maxAsking = 30 * time.Second, 4
	// retryReload is when pods are asked again after they failed and the workload may not roll.
	retryReload = 5 * time.Minute
)

// asking is a reload of running pods that is under way, or the last one that failed. The roller of its workload alone uses it.
type asking struct {
	// of stands for the contents and for how: if it changes, all begins again. versions are those of the configs, and value has all of them: pods are
	// touched with it. Pods that were created after there have the content. The first call comes at first, and the last not before last.
	how                       *dialect.Hot
	of, value                 string
	versions                  []string
	began, there, first, last time.Time
	// failed is why it failed; empty if it did not. due is when there is something to do next: if it failed, another try.
	failed string
	due    time.Time
	pods   []*asked
}

// restarts says why a change of c restarts the pods of p's workload, although it asks for a strategy that does not; empty if it does not ask for one.
func (d *common) restarts(p *dialect.Plan, c reloader.Config) string {
	return p.Restarts(c, d.Pods != nil, d.Exec)
}

// reload has the running pods of a workload that is due take the new content without a restart. It returns the outcome, which is Reloaded if the workload
// must roll instead; or none, and the time until it has to be called again.
func (d *roller) reload(ctx context.Context, s *sitting) (outcome reloader.Reason, wait time.Duration) {
	t, now := s.t, time.Now()
	of := fmt.Sprintf("%+v", *s.plan.Chosen.Hot)
	for _, c := range s.out.Rolled {
		w := s.verdicts[c].Write
		of += fmt.Sprintf(" %s=%s:%s", c, w.KeyID, w.Sum)
		if why := d.restarts(s.plan, c); why != "" {
			t.asking = nil
			return d.giveUp(s, why)
		}
	}
	b := d.lock()
	kept, failing := b.states.kept(s.w.Ref()), t.hold != nil && t.hold.Attempts >= maxAttempts
	d.unlock()
	switch a := t.asking; {
	case a == nil || a.of != of || a.failed != "" && !a.how.Fallback && (!now.Before(a.due) || t.retries()):
		t.asking = nil
	case a.failed != "" && a.how.Fallback:
		return d.giveUp(s, a.failed)
	case a.failed != "":
		return "", a.due.Sub(now)
	case now.Before(a.due) || !kept:
		return d.reloads(t)
	}
	pods, err := d.Pods.Running(ctx, s.w)
	switch {
	case err != nil && (fateOf(err) == fateNever || failing):
		return d.giveUp(s, "its pods cannot be read: "+err.Error())
	case err != nil:
		return "", d.holdBack(s, fmt.Errorf("read running pods: %w", err))
	case t.asking == nil:
		if why := d.beginReload(s, of, pods, now); why != "" {
			return d.giveUp(s, why)
		}
	}
	t.asking.meet(pods)
	d.askAll(ctx, s, now)
	return d.judge(s)
}

// beginReload begins a reload, and says why it fails at once; nothing if it does not.
func (d *roller) beginReload(s *sitting, of string, pods []workload.RunningPod, now time.Time) (why string) {
	b := d.lock()
	defer d.unlock()
	t, writes := s.t, map[reloader.Config]*applied.Write{}
	a := &asking{how: s.plan.Chosen.Hot, of: of, began: now, first: now, last: now}
	t.asking = a
	if len(pods) == 0 && a.how.Fallback {
		return "no pod of it runs"
	}
	for _, c := range s.out.Rolled {
		f, w := b.configs.of(c).now, s.verdicts[c].Write
		if w.Absent() {
			return c.String() + " is gone"
		}
		a.versions = append(a.versions, w.Version)
		a.there = slices.MaxFunc([]time.Time{a.there, f.seen, f.DataWritten, f.touched}, time.Time.Compare)
		for _, p := range pods {
			if f.Created.After(p.Started) && !p.Started.IsZero() { // kubelets take no notice of a new object in place of an immutable one
				return c.String() + " was created after pod " + p.Name + " started"
			}
		}
		writes[c] = new(t.state.Writes.Get(c).Unsure(w.KeyID))
	}
	a.value = strings.Join(a.versions, ".")
	if settle := b.Settle; a.how.Strategy != dialect.Refresh {
		a.first, a.last = now.Add(max(ledgerDelay, min(firstCall, settle/4))), now.Add(settle)
		b.states.note(t, writes, now)
	}
	return ""
}

// reloads has the record say that t is reloading, and returns no outcome and how long there is nothing to do, or less.
func (d *roller) reloads(t *tracked) (reloader.Reason, time.Duration) {
	a, sum := t.asking, t.asking.asked()
	message := fmt.Sprintf("%s: %d of %d pods have answered", a.how.Strategy, sum.Answered, len(a.pods))
	d.lock().gate.hold(t, reloader.Hold{Reason: reloader.ReasonReloading, Message: message, Due: reloader.Later(a.last, a.due)}, time.Now())
	d.unlock()
	return "", min(max(ledgerDelay, time.Until(a.due)), time.Minute)
}

// giveUp has the workload roll instead, or ends as a failure if that is forbidden.
func (d *roller) giveUp(s *sitting, why string) (reloader.Reason, time.Duration) {
	if a := s.t.asking; a != nil {
		a.failed, a.due = why, time.Now().Add(retryReload)
	}
	if s.plan.Chosen.Hot.Fallback {
		s.why = "restarted its pods: " + why
		return reloader.ReasonReloaded, 0
	}
	d.lock().holdBack(s, reloader.ReasonReloadFailed, why)
	d.unlock()
	return "", retryReload
}

// fails reports whether t could not reload for c, and may not roll instead. It stays so while it tries again.
func (t *tracked) fails(c reloader.Config) bool {
	e := t.edges.Get(c)
	return t.hold != nil && t.hold.Reason == reloader.ReasonReloadFailed && e != nil && e.behind
}

// reloading reports whether pods of t are being asked.
func (t *tracked) reloading() bool { return t.hold != nil && t.hold.Reason == reloader.ReasonReloading }

// askAll has kubelets refresh the volumes that they have not begun with, and asks the pods whose turn it was when the step began, now. Where pods are called,
// that is no pod in the first step: the ledger is not written yet. A kubelet that cannot be made to hurry is no failure: the last call comes late enough.
func (d *roller) askAll(ctx context.Context, s *sitting, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	a := s.t.asking
	secret := sync.OnceValues(func() (map[string][]byte, error) { return d.Pods.Secret(ctx, s.w.Namespace, a.how.Secret) })
	var g errgroup.Group
	g.SetLimit(maxAsking)
	for _, x := range a.pods {
		g.Go(func() error {
			if a.how.Strategy != dialect.Refresh && x.Refreshed != a.value {
				if err := d.Pods.Refresh(ctx, x.RunningPod, a.value); err != nil {
					d.Logger.Debug("a kubelet was not made to refresh volumes", "workload", s.w.Ref().String(), "pod", x.Name, "error", err)
				}
			}
			if x.next.IsZero() || now.Before(x.next) {
				return nil
			}
			began := time.Now()
			err := d.asks.Do(ctx, x.RunningPod, func(ctx context.Context) error { return d.ask(ctx, a, x.RunningPod, secret) })
			if ctx.Err() == nil && fateOf(err) != fateGone {
				x.take(a, began, err)
				d.metrics.Called(err == nil)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// judge says how far the reload is after a step.
func (d *roller) judge(s *sitting) (reloader.Reason, time.Duration) {
	a := s.t.asking
	var next []time.Time
	if time.Now().Before(a.last) {
		next = append(next, a.last) // until then more pods may begin to run with old files
	}
	for _, x := range a.pods {
		switch {
		case !x.next.IsZero():
			next = append(next, x.next)
		case x.err != nil:
			return d.giveUp(s, "pod "+x.Name+": "+x.err.Error())
		}
	}
	if len(next) > 0 {
		a.due = slices.MinFunc(next, time.Time.Compare)
		return d.reloads(s.t)
	}
	d.lock()
	moved := s.t.state.N != s.state.N || !s.t.state.Noted.Equal(s.state.Noted)
	d.unlock()
	switch {
	case moved: // another process has rolled it meanwhile
		return "", time.Millisecond
	case a.how.Strategy == dialect.Refresh:
		return reloader.ReasonRefreshed, 0
	case a.how.Verify.Path != "":
		return reloader.ReasonVerified, 0
	}
	return reloader.ReasonCalled, 0
}
