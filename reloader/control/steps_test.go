package control_test

import (
	"testing"

	"github.com/reroll-dev/reroll/reloader/control"
)

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
