package control_test

import (
	"testing"

	"github.com/reroll-dev/reroll/reloader/control"
)

func TestStepEnd(t *testing.T) {
	for name, c := range map[string]struct{ n, ended, want int }{
		"nobody":                           {0, 0, 0},
		"one alone":                        {1, 0, 1},
		"one alone, at its end":            {1, 1, 1},
		"the first of two":                 {2, 0, 1},
		"the second of two":                {2, 1, 2},
		"the first of thirty":              {30, 0, 1},
		"a tenth of the others":            {30, 1, 4},
		"not all of the tenth":             {30, 3, 4},
		"the rest":                         {30, 4, 30},
		"the first of many":                {2000, 0, 1},
		"a tenth of many":                  {2000, 1, 201},
		"the rest of many":                 {2000, 201, 2000},
		"more than a step":                 {2000, 700, 2000},
		"some are gone since they went":    {3, 5, 3},
		"the rest, as soon as a tenth did": {11, 2, 11},
	} {
		if got := control.StepEnd(c.n, c.ended); got != c.want {
			t.Errorf("%s: %d of %d may go after %d, want %d", name, got, c.n, c.ended, c.want)
		}
	}
}

// TestStepsComeToAnEnd: whatever the number of workloads, a step that has ended lets somebody go until all have gone.
func TestStepsComeToAnEnd(t *testing.T) {
	for n := range 500 {
		steps, ended := 0, 0
		for ended < n {
			next := control.StepEnd(n, ended)
			if next <= ended || next > n {
				t.Fatalf("%d of %d may go after %d", next, n, ended)
			}
			ended = next
			steps++
		}
		if steps > 3 {
			t.Errorf("%d steps for %d workloads, want 3 at most", steps, n)
		}
	}
}
