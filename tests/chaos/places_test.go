package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPlacesFit: each place is still in the sources.
func TestPlacesFit(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deadly().sources(root); err != nil {
		t.Error(err)
	}
}

// TestPlaces lets processes die where it hurts most, with a quiet window and without one, and nothing else befalls them.
func TestPlaces(t *testing.T) {
	if os.Getenv("CHAOS_MISTAKES") == "" {
		t.Skip("CHAOS_MISTAKES=1 runs it, as make chaos does")
	}
	binary, err := deadly().build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, window := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run("window "+window.String(), func(t *testing.T) {
			deaths := filepath.Join(t.TempDir(), "deaths")
			o := shortRun(t)
			o.Binary, o.Env, o.Window = binary, []string{deathsEnv + "=" + deaths}, window
			o.Time, o.KillEvery, o.APIServerEvery, o.Weather = 75*time.Second, 0, 0, &weather{Unruly: true}
			if r := torment(t, o); len(r.faults) > 0 {
				t.Errorf("%d faults", len(r.faults))
			}
			died, err := countDeaths(deaths)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range places {
				t.Logf("%d deaths: %s", died[p.name], p.name)
				if died[p.name] == 0 {
					t.Errorf("nothing died where %s", p.name)
				}
			}
		})
	}
}
