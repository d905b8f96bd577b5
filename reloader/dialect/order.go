package dialect

import (
	"fmt"
	"strconv"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// maxWeight bounds the weight of a workload; 0 is that of one that says nothing.
const maxWeight = 1000

// maintenance returns the windows that w asks for; none if it asks for none.
func (c Choices) maintenance(w *workload.Workload) ([]control.Window, error) {
	value := w.Annotations[c.Maintenance]
	if c.Maintenance == "" || value == "" {
		return nil, nil
	}
	return control.ParseWindows(value)
}

// weight returns the weight that w asks for.
func (c Choices) weight(w *workload.Workload) (int, error) {
	value := w.Annotations[c.Weight]
	if c.Weight == "" || value == "" {
		return 0, nil
	}
	weight, err := strconv.Atoi(value)
	if err != nil || weight < 0 || weight > maxWeight {
		return 0, fmt.Errorf("%.40q is no whole number from 0 to %d", value, maxWeight)
	}
	return weight, nil
}

// Maintenance returns the windows in which w may be rolled, beside those of the installation; none if it may always be. A text that cannot be read
// may mean any time but now: w is held back until it can.
func (s Set) Maintenance(w *workload.Workload) []control.Window {
	for _, d := range s {
		windows, err := d.Choices.maintenance(w)
		switch {
		case err != nil:
			return []control.Window{control.Never()}
		case len(windows) > 0:
			return windows
		}
	}
	return nil
}

// Weight returns the place of w among the workloads of its namespace that roll for the same change: those with less go before it. It is
// at least 0, which is also that of a workload that says nothing, or nothing that can be read.
func (s Set) Weight(w *workload.Workload) int {
	for _, d := range s {
		if weight, err := d.Choices.weight(w); err == nil && weight > 0 {
			return weight
		}
	}
	return 0
}
