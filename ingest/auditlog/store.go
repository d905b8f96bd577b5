package auditlog

import (
	"context"
	"log/slog"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// store stores a batch and then the place behind it. It reports false if ctx ended before.
func (t *Tail) store(ctx context.Context, batch *audit.Collector) bool {
	result := batch.Result()
	if len(result.Hints) > 0 && !t.put(ctx, result.Hints) {
		return false
	}
	t.metrics.stored(result)
	t.metrics.longLines.Add(float64(t.lines.long))
	t.lines.long = 0
	t.save()
	return true
}

// put stores hints, however often it takes. It reports false if ctx ended before.
func (t *Tail) put(ctx context.Context, hints []reloader.Hint) bool {
	for pause := t.opts.Limits.RetryMin; ctx.Err() == nil; pause = min(2*pause, t.opts.Limits.RetryMax) {
		attempt, cancel := context.WithTimeout(ctx, t.opts.Limits.PutTimeout)
		err := t.opts.Sink.Put(attempt, hints)
		cancel()
		if err == nil {
			t.health.set(stepStore, nil)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		t.metrics.putFailures.Inc()
		t.health.set(stepStore, err)
		t.pause(ctx, pause)
	}
	return false
}

// save saves the place if it has changed. Without it nothing is lost: what is read again is stored again.
func (t *Tail) save() {
	now := t.file.place(t.lines.offset, t.saved.Done)
	if info, err := t.file.f.Stat(); err == nil && !t.file.compressed {
		t.metrics.unread.Set(float64(max(0, info.Size()-now.Offset)))
	}
	if t.saved == now {
		return
	}
	err := now.save(t.opts.StatePath)
	t.health.set(stepSave, err)
	// Also where that failed, everything up to here is stored.
	t.saved = now
	if err == nil {
		t.opts.Logger.Debug("audit log stored", slog.Int64("offset", now.Offset))
	}
}
