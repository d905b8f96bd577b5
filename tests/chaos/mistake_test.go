package main

import (
	"os"
	"testing"
	"time"
)

// TestMistakesFit: each mistake still has its place in the sources.
func TestMistakesFit(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		if _, err := m.sources(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestMistakes gives the suite Rerolls with a mistake in them. It has to catch each.
func TestMistakes(t *testing.T) {
	if os.Getenv("CHAOS_MISTAKES") == "" {
		t.Skip("CHAOS_MISTAKES=1 runs it, as make chaos does")
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			o := shortRun(t)
			var err error
			if o.Binary, err = m.build(t.Context(), t.TempDir()); err != nil {
				t.Fatal(err)
			}
			// A restart would heal some of them.
			o.Time, o.QuietTime, o.KillEvery, o.APIServerEvery = 10*time.Second, 5*time.Second, 0, 0
			o.Weather = &weather{Unruly: true, Drop: 0.5}
			if r := torment(t, o); count(r.faults, m.finds) == 0 {
				t.Errorf("nothing is %s", m.finds)
			}
		})
	}
}
