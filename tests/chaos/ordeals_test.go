package main

import (
	"context"
	"testing"
	"time"
)

// TestOrdeals does to the one process with everything in it what comes once in a while.
func TestOrdeals(t *testing.T) {
	tests := map[string]struct {
		disk   string
		ordeal func(context.Context, *course) error
		time   time.Duration
	}{
		"full disk":      {tmpfs, fullDisk, 8 * time.Second},
		"power cut":      {ext4, powerCut, 8 * time.Second},
		"old copy":       {"", oldCopy, 9 * time.Second},
		"second process": {"", secondProcess, 2 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := shortRun(t)
			o.Disk, o.Ordeal, o.Time, o.Configs, o.Weather = tc.disk, tc.ordeal, tc.time, 24, &weather{}
			if r := torment(t, o); len(r.faults) > 0 {
				t.Errorf("%d faults", len(r.faults))
			}
		})
	}
}
