package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a lock that another process holds is tried again.
const lockPoll = 250 * time.Millisecond

// lock takes the lock on file, waiting for another process that has it, and returns what gives it back. The lock ends with the
// process in any case.
func lock(ctx context.Context, file string, progress io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	told := false
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if !told {
			fmt.Fprintln(progress, "kube: waiting for another process that builds the parts")
			told = true
		}
		if err := pause(ctx, lockPoll); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("wait for %s: %w", file, err)
		}
	}
}

// pause waits for d, or returns why ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
