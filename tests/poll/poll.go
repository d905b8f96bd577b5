// Package poll waits for what tests wait for. It imports nothing of Kubernetes, so that unit tests may use it.
package poll

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// stop is an error that ends Until.
type stop struct{ error }

// Stop marks an error that will not go away, so that Until gives up.
func Stop(err error) error { return stop{err} }

const (
	// firstPause and longestPause are between two tries of Until: soon at first, and seldom where a machine is busy.
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// patience is how long one Until waits unless REROLL_PATIENCE says otherwise: no test may hold by the speed of the machine.
	patience = 4 * time.Minute
)

// Patience returns how long one Until waits.
func Patience() time.Duration {
	if asked, err := time.ParseDuration(os.Getenv("REROLL_PATIENCE")); err == nil {
		return asked
	}
	return patience
}

// Until calls check until it returns nil, for minutes if it must, and also longer than a deadline of ctx. It gives up at once when ctx is
// canceled or check returns an error of Stop. An error says how long and how often it tried, and carries the last answer.
func Until(ctx context.Context, check func(context.Context) error) error {
	begun, pause := time.Now(), firstPause
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience())
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})()
	for tries := 1; ; tries++ {
		err := check(own)
		var final stop
		if err == nil || errors.As(err, &final) {
			return err
		}
		select {
		case <-own.Done():
			return fmt.Errorf("gave up after %s and %d tries: %w", time.Since(begun).Round(time.Second), tries, err)
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}
