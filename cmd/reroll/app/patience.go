package app

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// startPatience is how long a start waits for a NATS that was reached and is not ready: longer than its servers take to elect a leader.
// Whoever waits is not ready and lives; to end instead would be a restart that means nothing, and a longer pause before the next one.
const startPatience = 2 * time.Minute

// patiently calls do, which asks NATS for something, until it succeeds, or fails with what does not pass by itself, or has failed for
// longer than startPatience. The last error is returned, the others are logged.
func (p *program) patiently(ctx context.Context, do func(context.Context) error) (last error) {
	end := time.Now().Add(startPatience)
	err := retry(ctx, longestPause, func() error {
		last = do(ctx)
		if last == nil || !queue.Passes(last) || !time.Now().Before(end) {
			return nil // which ends the trying
		}
		p.logger.Warn("NATS is not ready yet, and is asked again", "error", last)
		return last
	})
	if err != nil {
		return err
	}
	return last
}
