package dispatcher

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	// patience is how long a pod is asked that fails again and again, with pauses of a second that double as often as longestPause.
	patience, longestPause = 30 * time.Second, 5
	// askTime bounds the calls of one step of attend, and maxAsking is how many of them are made at once.
	askTime, maxAsking = 30 * time.Second, 4
	// retryReload is when pods are asked again after they failed and the workload may not roll.
	retryReload = 5 * time.Minute
)

// asking is a reload of running pods that is under way, or the last one that failed. The roller of its workload alone uses it.
type asking struct {
	// of stands for the contents and for how: if it changes, all begins again. versions are those of the configs, and value is what pods are touched
	// with. Pods that were created after there have the content. The first call comes at first, and the last not before last.
	how                       *dialect.Hot
	of, value                 string
	versions                  map[reloader.Config]string
	began, there, first, last time.Time
	// due is when there is something to do next, and pods are those that were asked, by UID.
	due  time.Time
	pods map[string]*asked
	// failed is why it failed; empty if it did not. again is when another try begins, if the workload may not roll.
	failed string
	again  time.Time
}

// restarts says why a change of c restarts the pods of p's workload, although it asks for a strategy that does not; empty if it does not ask for one.
func (d *common) restarts(p *dialect.Plan, c reloader.Config) string {
	return p.Restarts(c, d.Pods != nil, d.HotReload.Exec)
}

// reload has the running pods of a workload that is due take the new content without a restart. It returns the outcome, which is Reloaded if the workload
// must roll instead; or none, and the time until it has to be called again.
func (d *roller) reload(ctx context.Context, did *done) (outcome reloader.Reason, wait time.Duration) {
	s, now := did.s, time.Now()
	for _, c := range did.rolled {
		why := d.restarts(s.plan, c)
		if why == "" && did.verdicts[c].Write.Absent() {
			why = c.String() + " is gone"
		}
		if why != "" {
			return d.giveUp(did, nil, why)
		}
	}
	b := d.lock()
	a := b.underWay(did, now)
	tries := s.t.attempts
	rests := a != nil && a.failed == "" && (now.Before(a.due) || !b.states.kept(s.w.Ref()))
	if rests {
		wait = b.reloads(s.t, a, max(ledgerDelay, a.due.Sub(now)))
	}
	d.unlock()
	switch {
	case a != nil && a.failed != "":
		return d.giveUp(did, a, a.failed)
	case rests:
		return "", wait
	}
	pods, err := d.Pods.Running(ctx, s.w)
	switch {
	case err != nil && (fateOf(err) == fateNever || tries >= maxAttempts):
		return d.giveUp(did, a, "its pods cannot be read: "+err.Error())
	case err != nil:
		return "", d.holdBack(s, did.rolled, fmt.Errorf("read running pods: %w", err))
	case a == nil:
		a = d.lock().beginReload(did, pods, now)
		d.unlock()
	}
	if a.failed != "" {
		return d.giveUp(did, a, a.failed)
	}
	pods = a.meant(pods)
	d.askAll(ctx, s, a, pods)
	return d.judge(ctx, did, a, pods)
}

// underWay returns the reload of t that is for the present content, or failed for it and is not to be tried again; nil if one must begin.
func (b *board) underWay(did *done, now time.Time) *asking {
	a := did.s.t.asking
	if a == nil || a.of != contentsOf(did) || a.failed != "" && !a.how.Fallback && (now.After(a.again) || did.s.t.retries()) {
		return nil
	}
	return a
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

// beginReload begins a reload, or one that has failed at once.
func (b *board) beginReload(did *done, pods []workload.RunningPod, now time.Time) *asking {
	t, h := did.s.t, did.s.plan.Chosen.Hot
	a := &asking{
		how: h, of: contentsOf(did), began: now, first: now, last: now,
		versions: map[reloader.Config]string{}, pods: map[string]*asked{},
	}
	t.asking = a
	if len(pods) == 0 && h.Fallback {
		a.failed = "no pod of it runs"
	}
	writes := map[reloader.Config]*applied.Write{}
	for _, c := range did.rolled {
		f, w := b.configs.of(c).now, did.verdicts[c].Write
		a.versions[c] = w.Version
		for _, at := range []time.Time{f.seen, f.DataWritten, f.touched} {
			a.there = reloader.Later(a.there, at)
		}
		for _, p := range pods {
			if f.Created.After(p.Started) && !p.Started.IsZero() { // kubelets take no notice of a new object in place of an immutable one
				a.failed = c.String() + " was created after pod " + p.Name + " started"
			}
		}
		unsure := t.state.Writes.Get(c).Unsure(w.KeyID)
		writes[c] = &unsure
	}
	if a.value = a.versions[did.rolled[0]]; len(did.rolled) > 1 {
		sum := sha256.Sum256([]byte(fmt.Sprint(a.versions)))
		a.value = hex.EncodeToString(sum[:8])
	}
	if a.failed == "" && h.Strategy != dialect.Refresh {
		settle := b.HotReload.Settle
		a.first, a.last = now.Add(min(firstCall, settle/4)), now.Add(settle)
		b.states.note(t, writes, now)
	}
	return a
}

// reloads has the record say that t is reloading, and returns wait, or less.
func (b *board) reloads(t *tracked, a *asking, wait time.Duration) time.Duration {
	now := time.Now()
	answered := a.asked().Answered
	b.gate.hold(t, reloader.Hold{
		Reason: reloader.ReasonReloading, Message: fmt.Sprintf("%s: %d of %d pods have answered", a.how.Strategy, answered, len(a.pods)),
		Due: reloader.Later(a.last, now.Add(wait)),
	}, now)
	return min(max(wait, recordDelay), time.Minute)
}

// giveUp has the workload roll instead, or ends as a failure if that is forbidden. a is nil if nothing was asked.
func (d *roller) giveUp(did *done, a *asking, why string) (reloader.Reason, time.Duration) {
	b := d.lock()
	defer d.unlock()
	first := a == nil || a.failed == "" || a.again.IsZero()
	if a != nil {
		a.failed = why
	}
	if did.s.plan.Chosen.Hot.Fallback {
		did.why = "restarted its pods: " + why
		return reloader.ReasonReloaded, 0
	}
	if first {
		if a != nil {
			a.again = time.Now().Add(retryReload)
		}
		b.holdBack(did.s, did.rolled, reloader.ReasonReloadFailed, why)
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
	token, refused := "", error(nil)
	if a.how.Token != "" && !time.Now().Before(a.first) {
		token, refused = d.Pods.Token(ctx, s.w.Namespace, a.how.Token)
	}
	for _, p := range pods {
		x := a.pods[p.UID]
		if now := time.Now(); now.Before(a.first) || now.Before(x.next(a)) {
			if a.how.Strategy != dialect.Refresh && p.Refreshed != a.value {
				g.Go(func() error {
					if err := d.Pods.Refresh(ctx, s.w, p, a.value); err != nil {
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
				err = d.ask(ctx, s.w, a, p, x, token)
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
func (d *roller) judge(ctx context.Context, did *done, a *asking, pods []workload.RunningPod) (reloader.Reason, time.Duration) {
	now, s := time.Now(), did.s
	all, due := true, a.last
	if !now.Before(due) {
		due = now.Add(time.Minute)
	}
	for _, p := range pods {
		x := a.pods[p.UID]
		if why := x.hopeless(a); why != "" {
			return d.giveUp(did, a, why)
		}
		if !x.done(a) {
			all, due = false, reloader.Earlier(due, x.next(a))
		}
	}
	if !all || now.Before(a.last) && !d.allProved(ctx, s.w, a) {
		b := d.lock()
		defer d.unlock()
		a.due = due
		return "", b.reloads(s.t, a, due.Sub(now))
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
