package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// RequestedAnnotation in a pod template names the command for which it was last rolled.
const RequestedAnnotation = strategy.RequestedKey

// requestTime bounds how long a command to roll waits for its turn and for the roll.
const requestTime = 12 * time.Second

// request is a command to roll a workload, on its way through the queue of flushes.
type request struct {
	command reloader.Command
	answer  chan reloader.CommandAnswer
}

// Reload rolls the workload that a command names, unless that was done for this command before, and returns what became of it. It waits
// for no window and no limit on rates: somebody wants it now. A freeze or a pause holds it back, so that it is refused. What cannot be
// done in this call is not done later.
func (d *Dispatcher) Reload(ctx context.Context, c reloader.Command) reloader.CommandAnswer {
	if err := d.Ready(); err != nil {
		return answerTo(c, reloader.CommandFailed, "the dispatcher is still starting: "+err.Error())
	}
	r := &request{command: c, answer: make(chan reloader.CommandAnswer, 1)}
	d.mu.Lock()
	t := d.index.get(c.Workload)
	if t != nil {
		t.requests = append(t.requests, r)
	}
	d.mu.Unlock()
	if t == nil {
		return answerTo(c, reloader.CommandNotFound, c.Workload.String()+" does not exist, or asks for no reloads")
	}
	d.flushQ.Add(c.Workload)
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	select {
	case answer := <-r.answer:
		return answer
	case <-ctx.Done():
		if d.withdraw(t, r) {
			return answerTo(c, reloader.CommandFailed, "the workload's turn did not come in time; nothing was done")
		}
		return answerTo(c, reloader.CommandFailed, "the roll took too long; it may have been done")
	}
}

func answerTo(c reloader.Command, result reloader.CommandResult, message string) reloader.CommandAnswer {
	return reloader.CommandAnswer{ID: c.ID, Cluster: c.Cluster, Result: result, Message: message}
}

// withdraw takes back a request whose turn has not come, and reports whether that is so.
func (d *Dispatcher) withdraw(t *tracked, r *request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(t.requests, r)
	if i >= 0 {
		t.requests = slices.Delete(t.requests, i, i+1)
	}
	return i >= 0
}

// serveRequests answers the requests for a workload. It runs in the turn of the workload's flush, so that no two rolls of it meet.
func (d *Dispatcher) serveRequests(ctx context.Context, ref reloader.WorkloadRef) {
	for {
		d.mu.Lock()
		t := d.index.get(ref)
		if t == nil || len(t.requests) == 0 {
			d.mu.Unlock()
			return
		}
		r := t.requests[0]
		t.requests = t.requests[1:]
		d.mu.Unlock()
		r.answer <- d.rollRequested(ctx, t, r.command)
	}
}

// rollRequested rolls t for a command, also if it moved since it was last seen.
func (d *Dispatcher) rollRequested(ctx context.Context, t *tracked, c reloader.Command) reloader.CommandAnswer {
	decidedAt := time.Now()
	for range maxRereads {
		w, refused := d.requestable(t, decidedAt)
		if refused != "" {
			return answerTo(c, reloader.CommandRefused, refused)
		}
		id := reloader.RequestID(d.Cluster, string(w.UID), c.ID)
		if d.requestDone(t, w, id) {
			return d.concludeRequest(t, w, nil, c, id, decidedAt)
		}
		patched, err := d.writeRequest(ctx, t, w, c, id)
		if fateOf(err) == fateStale {
			if moved, readErr := d.reread(ctx, t, w, err); readErr == nil && moved {
				continue
			}
		}
		if err != nil {
			return d.requestFailed(w, c, id, err)
		}
		return d.concludeRequest(t, w, patched, c, id, decidedAt)
	}
	return answerTo(c, reloader.CommandFailed, "the workload changes all the time; nothing was done")
}

// requestable returns t's workload as it is now, or why it cannot be rolled at somebody's word.
func (d *Dispatcher) requestable(t *tracked, now time.Time) (w *workload.Workload, refused string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.get(t.w.Ref()) != t {
		return t.w, t.w.Ref().String() + " " + reloader.Reasons[reloader.ReasonWorkloadGone]
	}
	if frozen, _ := d.control.Freeze(now); frozen {
		return t.w, t.w.Ref().String() + " " + reloader.Reasons[reloader.ReasonFrozen]
	}
	if _, paused := d.control.Paused(t.w, now); paused {
		return t.w, t.w.Ref().String() + " " + reloader.Reasons[reloader.ReasonPausedByOperator]
	}
	if t.w.Dormant != "" {
		return t.w, t.w.Ref().String() + " " + reloader.Reasons[t.w.Dormant]
	}
	return t.w, ""
}

// requestDone reports whether the reload of that ID was made before: it is the last that marked w, or on record.
func (d *Dispatcher) requestDone(t *tracked, w *workload.Workload, id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reloadOn(w) == id || slices.Contains(t.recent, id)
}

// writeRequest writes what makes w roll, if it is still as it was read. Nothing is written in a dry run.
func (d *Dispatcher) writeRequest(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Command, id string) (*workload.Workload, error) {
	if d.DryRun {
		return nil, nil
	}
	if d.Webhook != nil {
		return nil, d.call(ctx, d.requestedReload(t, w, c, id, time.Now()))
	}
	chosen := d.strategyOf(w)
	target := chosen.Target(w)
	ops := append(strategy.Precondition(target), chosen.Request(w, c.ID, c.At)...)
	ops = append(ops, strategy.Annotate(target, LastReloadAnnotation, id)...)
	rolled, err := d.Workloads.Roll(ctx, target, strategy.Roll{Ops: ops, FieldManager: d.fieldManager(t.interest.Dialect), Name: id})
	d.metrics.tried(err)
	if err == nil && target != w {
		rolled = w.Through(rolled)
	}
	return rolled, err
}

// requestedReload describes the reload that a command asks for.
func (d *Dispatcher) requestedReload(t *tracked, w *workload.Workload, c reloader.Command, id string, decidedAt time.Time) reloader.Reload {
	return reloader.Reload{
		ID: id, Cluster: d.Cluster, Workload: w.Ref(), UID: string(w.UID), Dialect: t.interest.Dialect, Strategy: d.strategyName(t),
		Outcome: d.instead(), Causes: []reloader.Cause{}, Attempts: 1, DecidedAt: decidedAt,
		Request: &reloader.Request{ID: c.ID, User: c.User, At: c.At, Reason: c.Reason},
	}
}

// concludeRequest takes note of a reload that was made at somebody's word. patched is nil if nothing was written now.
func (d *Dispatcher) concludeRequest(t *tracked, w, patched *workload.Workload, c reloader.Command, id string, decidedAt time.Time) reloader.CommandAnswer {
	now := time.Now()
	if patched != nil {
		d.notePause(patched)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.requestedReload(t, w, c, id, decidedAt)
	if r.Outcome != reloader.ReasonReloaded {
		r.ID, r.Message = id+"-"+string(r.Outcome), reloader.Reasons[r.Outcome]
	}
	answer := answerTo(c, reloader.CommandDone, "")
	answer.ReloadID, answer.Outcome = r.ID, r.Outcome
	if slices.Contains(t.recent, id) {
		return answer // it is on record, or will be
	}
	if r.Outcome == reloader.ReasonReloaded {
		if patched != nil {
			t.w, t.pace = newer(patched, t.w), paced(t.pace, now)
			r.PatchedAt, r.Generation = now, patched.Generation
			d.stakater.rolled(r.Workload, true)
		}
		d.remind(t, patched, id)
		followed := d.supersede(t)
		defer d.follow(followed, w.Progress, r)
	} else {
		t.recent = append(t.recent, id)
	}
	d.finish(w, r)
	d.logRequested(r)
	d.settleQ.Add(w.Ref())
	return answer
}

// requestFailed says what becomes of a command whose patch met an error.
func (d *Dispatcher) requestFailed(w *workload.Workload, c reloader.Command, id string, err error) reloader.CommandAnswer {
	d.Logger.Warn("workload cannot be rolled as requested", "workload", w.Ref().String(), "reload", id, "command", c.ID, "error", err)
	switch fate := fateOf(err); {
	case fate == fateGone:
		return answerTo(c, reloader.CommandNotFound, w.Ref().String()+" does not exist any more")
	case fate == fateNever || errors.As(err, &unmarkable{}):
		return answerTo(c, reloader.CommandRefused, err.Error())
	}
	return answerTo(c, reloader.CommandFailed, err.Error())
}
