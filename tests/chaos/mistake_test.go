package main

import (
	"os"
	"testing"
	"time"
)

// TestMistakesFit: each mistake still has its place in the sources, and says what it breaks and how that shows.
func TestMistakesFit(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range trials {
		for _, m := range trial.mistakes {
			if _, err := trial.with(m).sources(root); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
			if m.breaks == "" || m.by == "" || m.finds != lost && m.finds != doubled {
				t.Errorf("%s: it does not say which promise it breaks, and how that shows", m.name)
			}
		}
	}
}

// Of so many runs with a mistake, each with a seed of its own, so many have to catch it.
const (
	seeds   = 3
	catches = 2
)

// TestMistakes gives the suite Rerolls with a mistake in them. It has to catch each, and to find nothing in the same run with the
// Reroll that has none, which is the one of the sources but for the trial's own edits.
func TestMistakes(t *testing.T) {
	if os.Getenv("CHAOS_MISTAKES") == "" {
		t.Skip("CHAOS_MISTAKES=1 runs it, as make chaos does")
	}
	for _, trial := range trials {
		t.Run(trial.name, func(t *testing.T) {
			t.Run("no mistake", func(t *testing.T) {
				if r := trial.torment(t, trial.with(mistake{})); len(r.faults) > 0 {
					t.Errorf("%d faults", len(r.faults))
				}
			})
			for _, m := range trial.mistakes {
				t.Run(m.name, func(t *testing.T) { trial.catch(t, m) })
			}
		})
	}
}

// catch gives the trial a Reroll with a mistake.
func (tr trial) catch(t *testing.T, m mistake) {
	caught := 0
	for run := range seeds {
		if count(tr.torment(t, tr.with(m)).faults, m.finds) > 0 {
			caught++
		}
		if caught == catches || run-caught == seeds-catches {
			break
		}
	}
	if caught < catches {
		t.Errorf("something is %s in %d runs, want %d of %d: %s %s", m.finds, caught, catches, seeds, m.breaks, m.by)
	}
}

// torment runs the trial with a Reroll that has a mistake, or none.
func (tr trial) torment(t *testing.T, m mistake) report {
	t.Helper()
	o := shortRun(t)
	o.Time = 12 * time.Second
	if len(m.edits) > 0 {
		var err error
		if o.Binary, err = m.build(t.Context(), t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	tr.set(&o) // the quiet time is that of the run without a mistake: what comes late is not lost
	return torment(t, o)
}
