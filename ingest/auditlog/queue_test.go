package auditlog

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// TestHintsReachTheQueue reads a log into the real thing, with a rotation on the way.
func TestHintsReachTheQueue(t *testing.T) {
	r := newRig(t)
	q, err := queue.Open(t.Context(), queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20, Logger: slog.New(slog.DiscardHandler)})
	r.must(err)
	t.Cleanup(func() {
		r.stop()
		ctx, cancel := context.WithTimeout(context.Background(), waitTime)
		defer cancel()
		if err := q.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	r.opts.Sink = q
	for n := range 100 {
		r.write(name(n))
	}
	hinted := func(n int) {
		config := reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: name(n)}
		r.eventually("hint about "+name(n), func() bool {
			hint, found, err := q.LastHint(t.Context(), "prod", config)
			r.must(err)
			return found && hint.Source == reloader.SourceAuditLog
		})
	}
	r.start()
	hinted(0) // only a file that was opened under its name is followed to its backup
	r.rename("audit-" + time.Now().UTC().Format(backupTime) + ".log")
	r.write(name(100))
	hinted(99)
	hinted(100)
}
