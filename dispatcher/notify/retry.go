package notify

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

const (
	// tries is how often an alert is posted before it is given up.
	tries = 4
	// firstPause is the pause after the first try; each later one is twice as long.
	firstPause = time.Second
	// longestPause bounds what Retry-After can ask for, since other alerts wait behind this one.
	longestPause = 30 * time.Second
)

// retry calls do until it succeeds, fails for good, was called often enough, or ctx has ended during a pause. It returns the last
// error.
func retry(ctx context.Context, do func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == tries || !worthAnother(err) {
			return err
		}
		if !sleep(ctx, pauseAfter(err, pause, time.Now())) {
			return err
		}
		pause *= 2
	}
}

// worthAnother reports whether err may pass: an answer that says so, or none at all.
func worthAnother(err error) bool {
	status, answered := errors.AsType[*StatusError](err)
	return !answered || status.transient()
}

// pauseAfter returns what the answer behind err asks for in its Retry-After header, in seconds or as a date, up to longestPause;
// usual if it does not.
func pauseAfter(err error, usual time.Duration, now time.Time) time.Duration {
	status, answered := errors.AsType[*StatusError](err)
	if !answered || status.retryAfter == "" {
		return usual
	}
	if seconds, err := strconv.ParseUint(status.retryAfter, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, longestPause)
	}
	if at, err := http.ParseTime(status.retryAfter); err == nil {
		return min(max(at.Sub(now), 0), longestPause)
	}
	return usual
}

// sleep waits for d and reports whether ctx lasted as long.
func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
