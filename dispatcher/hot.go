package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
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
	// askTime bounds the calls of one step of attend.
	askTime = 30 * time.Second
	// maxAsking is how many pods of a workload are asked at once.
	maxAsking = 4
	// retryReload is when pods are asked again after they failed and the workload may not roll.
	retryReload = 5 * time.Minute
)

// asking is a reload of running pods that is under way, or the last one that failed. The roller of its workload alone uses it.
type asking struct {
	// of stands for the contents and for how: if it changes, all begins again. versions are those of the configs. Pods that were created after there
	// have the content. The first call comes at first, and the last not before last.
	how                       *dialect.Hot
	of                        string
	versions                  []string
	began, there, first, last time.Time
	// failed is why it failed; empty if it did not. due is when there is something to do next: if it failed, another try.
	failed string
	due    time.Time
	// pods are those that were asked, by UID.
	pods map[string]*asked
}

// value is what pods are touched with.
func (a *asking) value() string { return strings.Join(a.versions, ".") }

// restarts says why a change of c restarts the pods of p's workload, although it asks for a strategy that does not; empty if it does not ask for one.
func (d *common) restarts(p *dialect.Plan, c reloader.Config) string {
	return p.Restarts(c, d.Pods != nil, d.HotReload.Exec)
}

// reload has the running pods of a workload that is due take the new content without a restart. It returns the outcome, which is Reloaded if the workload
// must roll instead; or none, and the time until it has to be called again.
func (d *roller) reload(ctx context.Context, did *done) (outcome reloader.Reason, wait time.Duration) {
	s, now := did.s, time.Now()
	for _, c := range did.rolled {
		if why := d.restarts(s.plan, c); why != "" {
			return d.giveUp(did, nil, why)
		} else if did.verdicts[c].Write.Absent() {
			return d.giveUp(did, nil, c.String()+" is gone")
		}
	}
	a := did.underWay(now)
	b := d.lock()
	kept, tries := b.states.kept(s.w.Ref()), s.t.attempts
	d.unlock()
	switch {
	case a != nil && a.failed != "":
		return d.giveUp(did, a, a.failed)
	case a != nil && (now.Before(a.due) || !kept):
		return d.reloads(s.t, a, max(ledgerDelay, a.due.Sub(now)))
	}
	pods, err := d.Pods.Running(ctx, s.w)
	switch {
	case err != nil && (fateOf(err) == fateNever || tries >= maxAttempts):
		return d.giveUp(did, a, "its pods cannot be read: "+err.Error())
	case err != nil:
		return "", d.holdBack(s, did.rolled, fmt.Errorf("read running pods: %w", err))
	case a == nil:
		why := ""
		if a, why = d.beginReload(did, pods, now); why != "" {
			return d.giveUp(did, a, why)
		}
	}
	pods = a.meant(pods)
	d.askAll(ctx, s, a, pods)
	return d.judge(did, a, pods)
}

// underWay returns the reload that is for the present content, or failed for it and is not to be tried again; nil if one must begin.
func (did *done) underWay(now time.Time) *asking {
	t := did.s.t
	if a := t.asking; a == nil || a.of != contentsOf(did) || a.failed != "" && !a.how.Fallback && (now.After(a.due) || t.retries()) {
		return nil
	}
	return t.asking
}

// contentsOf stands for what must be taken, and how.
func contentsOf(did *done) string {
	text := fmt.Sprintf("%+v", *did.s.plan.Chosen.Hot)
	for _, c := range did.rolled {
		w := did.verdicts[c].Write
		text += fmt.Sprintf(" %s=%s:%s", c, w.KeyID, w.Sum)
	}
	return text
}

// beginReload begins a reload, and says why it fails at once; nothing if it does not.
func (d *roller) beginReload(did *done, pods []workload.RunningPod, now time.Time) (a *asking, why string) {
	b := d.lock()
	defer d.unlock()
	t, h := did.s.t, did.s.plan.Chosen.Hot
	a = &asking{how: h, of: contentsOf(did), began: now, first: now, last: now}
	t.asking = a
	if len(pods) == 0 && h.Fallback {
		return a, "no pod of it runs"
	}
	writes := map[reloader.Config]*applied.Write{}
	for _, c := range did.rolled {
		f, w := b.configs.of(c).now, did.verdicts[c].Write
		a.versions = append(a.versions, w.Version)
		for _, at := range []time.Time{f.seen, f.DataWritten, f.touched} {
			a.there = reloader.Later(a.there, at)
		}
		for _, p := range pods {
			if f.Created.After(p.Started) && !p.Started.IsZero() { // kubelets take no notice of a new object in place of an immutable one
				return a, c.String() + " was created after pod " + p.Name + " started"
			}
		}
		unsure := t.state.Writes.Get(c).Unsure(w.KeyID)
		writes[c] = &unsure
	}
	if settle := b.HotReload.Settle; h.Strategy != dialect.Refresh {
		a.first, a.last = now.Add(min(firstCall, settle/4)), now.Add(settle)
		b.states.note(t, writes, now)
	}
	return a, ""
}

// reloads has the record say that t is reloading, and returns no outcome and wait, or less.
func (d *roller) reloads(t *tracked, a *asking, wait time.Duration) (reloader.Reason, time.Duration) {
	now := time.Now()
	d.lock().gate.hold(t, reloader.Hold{
		Reason: reloader.ReasonReloading, Message: fmt.Sprintf("%s: %d of %d pods have answered", a.how.Strategy, a.asked().Answered, len(a.pods)),
		Due: reloader.Later(a.last, now.Add(wait)),
	}, now)
	d.unlock()
	return "", min(max(wait, recordDelay), time.Minute)
}

// giveUp has the workload roll instead, or ends as a failure if that is forbidden. a is nil if nothing was asked.
func (d *roller) giveUp(did *done, a *asking, why string) (reloader.Reason, time.Duration) {
	known := a != nil && a.failed != ""
	if a != nil && !known {
		a.failed, a.due = why, time.Now().Add(retryReload)
	}
	if did.s.plan.Chosen.Hot.Fallback {
		did.why = "restarted its pods: " + why
		return reloader.ReasonReloaded, 0
	}
	if !known {
		d.lock().holdBack(did.s, did.rolled, reloader.ReasonReloadFailed, why)
		d.unlock()
	}
	return "", retryReload
}

// fails reports whether t could not reload for c, and may not roll instead. It stays so while it tries again.
func (t *tracked) fails(c reloader.Config) bool {
	e := t.edges.Get(c)
	return t.hold != nil && t.hold.Reason == reloader.ReasonReloadFailed && e != nil && e.behind
}

// reloading reports whether pods of t are being asked.
func (t *tracked) reloading() bool { return t.hold != nil && t.hold.Reason == reloader.ReasonReloading }

// meant returns those of pods that may not have the content, and forgets those that are gone.
func (a *asking) meant(pods []workload.RunningPod) (meant []workload.RunningPod) {
	known := a.pods
	a.pods = map[string]*asked{}
	for _, p := range pods {
		if p.Created.After(a.there) {
			continue
		}
		meant = append(meant, p)
		a.pods[p.UID] = cmp.Or(known[p.UID], &asked{name: p.Name})
	}
	return meant
}

// askAll asks the pods whose turn it is, and has kubelets refresh the volumes of those that they have not begun with. That a kubelet cannot be made to hurry
// is no failure: the last call comes when it has refreshed the volumes anyway.
func (d *roller) askAll(ctx context.Context, s *sitting, a *asking, pods []workload.RunningPod) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(maxAsking)
	var secret map[string][]byte
	var refused error
	if a.how.Secret != "" && !time.Now().Before(a.first) {
		if secret, refused = d.Pods.Secret(ctx, s.w.Namespace, a.how.Secret); refused != nil {
			refused = errors.New("its credentials cannot be read: " + refused.Error()) // one that is not found is no pod that is gone
		}
	}
	for _, p := range pods {
		x := a.pods[p.UID]
		if x.done(a) || time.Now().Before(x.next(a)) {
			if a.how.Strategy != dialect.Refresh && p.Refreshed != a.value() {
				g.Go(func() error {
					if err := d.Pods.Refresh(ctx, p, a.value()); err != nil {
						d.Logger.Debug("a kubelet was not made to refresh volumes", "workload", s.w.Ref().String(), "pod", p.Name, "error", err)
					}
					return nil
				})
			}
			continue
		}
		g.Go(func() error {
			began, err := time.Now(), refused
			if err == nil {
				err = d.asks.Do(ctx, p, func(ctx context.Context) error { return d.ask(ctx, a, p, secret) })
			}
			if ctx.Err() == nil && fateOf(err) != fateGone {
				x.take(began, err)
				d.metrics.Called(err == nil)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// judge says how far the reload is after a step.
func (d *roller) judge(did *done, a *asking, pods []workload.RunningPod) (reloader.Reason, time.Duration) {
	now, s := time.Now(), did.s
	waits, due := now.Before(a.last), a.last
	if !waits {
		due = now.Add(time.Minute)
	}
	for _, p := range pods {
		x := a.pods[p.UID]
		if why := x.hopeless(a); why != "" {
			return d.giveUp(did, a, why)
		}
		if !x.done(a) {
			waits, due = true, reloader.Earlier(due, x.next(a))
		}
	}
	if waits {
		a.due = due
		return d.reloads(s.t, a, due.Sub(now))
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
