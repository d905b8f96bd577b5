package queue

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	// firstWait and longestWait bound the pause between two attempts, which doubles.
	firstWait, longestWait = 100 * time.Millisecond, 2 * time.Second
	// warnEvery is how many failures in a row have one warning.
	warnEvery = 30
)

// final is an error that another attempt cannot help.
type final struct{ error }

// Unwrap implements errors.Unwrap.
func (f final) Unwrap() error { return f.error }

// Final returns err as one that ends Retry.
func Final(err error) error { return final{err} }

// Retry calls f until it returns nil or a Final error, or ctx ends, which gives the error of ctx. Each pause is longer than the one before, until f has lasted. Processes
// that fail at the same time try again at different times. The first failure in a row is a warning with message, and further ones now and then.
func Retry(ctx context.Context, log *slog.Logger, message string, f func() error) error {
	for failures, wait := 0, firstWait; ; failures, wait = failures+1, min(2*wait, longestWait) {
		began := time.Now()
		err := f()
		if err == nil || errors.As(err, new(final)) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(began) > longestWait {
			failures, wait = 0, firstWait
		}
		level := slog.LevelDebug
		if failures%warnEvery == 0 {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, message, "error", err)
		if !Pause(ctx, wait/2+rand.N(wait/2)) {
			return ctx.Err()
		}
	}
}

// Pause waits, and reports whether it did so to the end.
func Pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
