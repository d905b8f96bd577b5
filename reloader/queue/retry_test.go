package queue

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRetry: failures in a row have one warning now and then, a failure after a long run has one of its own, and a final error is the last.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, nil))
		failed, calls := errors.New("broken"), 0
		err := Retry(t.Context(), log, "trying again", func() error {
			switch calls++; calls {
			case warnEvery + 5:
				Pause(t.Context(), 2*longestWait)
			case warnEvery + 6:
				return Final(failed)
			}
			return failed
		})
		if !errors.Is(err, failed) || calls != warnEvery+6 || strings.Count(text.String(), "trying again") != 3 {
			t.Errorf("%v after %d calls:\n%s", err, calls, &text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Retry(ctx, quiet(), "", func() error { return failed }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
