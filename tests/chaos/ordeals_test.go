package main

import (
	"testing"
	"time"
)

// TestOrdeals does to Reroll what comes once in a while.
func TestOrdeals(t *testing.T) {
	tests := map[string]func(*options){
		"power cut":        func(o *options) { o.Disk, o.Ordeal, o.Time = ext4, powerCut, 8*time.Second },
		"killed and wiped": func(o *options) { o.Ordeal, o.Time, o.Rate = wipe, time.Minute, 60 },
	}
	for name, with := range tests {
		t.Run(name, func(t *testing.T) {
			o := shortRun(t)
			o.Configs, o.Weather = 24, &weather{}
			with(&o)
			if r := torment(t, o); len(r.faults) > 0 {
				t.Errorf("%d faults", len(r.faults))
			}
		})
	}
}
