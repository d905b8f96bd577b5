package dialect

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Choice is an annotation on a workload's own metadata that chooses how it is rolled.
type Choice struct {
	Key string
	// Read puts what the value on w says into what is chosen, unless a more important dialect has chosen already.
	Read func(w *workload.Workload, value string, chosen *Chosen) error
	// Otherwise says what holds if Read fails; empty if there is nothing to add.
	Otherwise string
}

// read puts what w chooses into chosen, and returns what is wrong with it.
func (c Choice) read(w *workload.Workload, chosen *Chosen) (problem string) {
	value, said := w.Annotations[c.Key]
	if !said {
		return ""
	}
	err := c.Read(w, value, chosen)
	switch {
	case err == nil:
		return ""
	case c.Otherwise == "":
		return c.Key + ": " + err.Error()
	}
	return c.Key + ": " + err.Error() + "; " + c.Otherwise
}

// Chosen is what a workload's annotations choose for its rolls. The zero Chosen leaves everything to the installation.
type Chosen struct {
	// Strategy is the name of the workload's strategy: annotations, env-vars or, for a Rollout, restart. Empty means the
	// installation's.
	Strategy string
	// Hot is how the pods take new content without a restart; nil if the workload asks for no such strategy.
	Hot *Hot
	// Debounce is the debounce window; nil means the installation's, and zero is none.
	Debounce *time.Duration
	// MinInterval is the shortest time between two rolls; zero if the workload asks for none. One that cannot be read is the longest.
	MinInterval time.Duration
	// Maintenance are the windows that allow a roll; none if it is always allowed. A text that cannot be read opens never.
	Maintenance []control.Window
	// Keys are the keys of all configs that count. A list that cannot be read lets every key count.
	Keys Keys
	// Pause is the pause of the rollout after a mark.
	Pause Pause
}

// Pause is what a Deployment says about holding back its rollout after a mark.
type Pause struct {
	// Period is how long; zero if the workload does not ask for it.
	Period time.Duration
	// Key is the annotation that says since when; empty if the workload neither asks for a pause nor has begun one.
	Key string
	// Begun reports whether a pause was begun by the tool and not ended yet, and Until is when it is over; zero means at once.
	Begun bool
	Until time.Time
}

// maxWindow bounds a workload's own debounce window.
const maxWindow = 24 * time.Hour

// maxPausePeriod bounds a pause, and the shortest time between two rolls. A longer one is taken for a mistake: the workload would seem never to
// roll.
const maxPausePeriod = 7 * 24 * time.Hour

// duration parses a duration of at most longest; none is zero.
func duration(value string, longest time.Duration) (time.Duration, error) {
	if value == "" {
		return 0, nil
	}
	period, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a duration, such as 5m", value)
	case period < 0 || period > longest:
		return 0, fmt.Errorf("%.40q is not between 0 and %s", value, longest)
	}
	return period, nil
}
