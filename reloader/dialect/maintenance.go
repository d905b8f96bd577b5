package dialect

import (
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// maintenance returns the windows that w asks for; none if it asks for none.
func (c Choices) maintenance(w *workload.Workload) ([]control.Window, error) {
	value := w.Annotations[c.Maintenance]
	if c.Maintenance == "" || value == "" {
		return nil, nil
	}
	return control.ParseWindows(value)
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
