package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Choices are the annotations on a workload's own metadata that choose how it is rolled. An empty key is a choice that the tool
// does not offer.
type Choices struct {
	// Strategy has, for each kind of workload that may choose, the annotation and the strategy that each of its values stands for.
	Strategy map[string]StrategyChoice
	// PausePeriod is the annotation of Deployments that says how long the rollout is held back after a mark, as a Go duration, and
	// PausedAt the one that is written meanwhile, with the time at which it began.
	PausePeriod, PausedAt string
	// Window is the annotation with the quiet window of the workload, and MinInterval the one with the shortest time between two of its
	// rolls, both as Go durations.
	Window, MinInterval string
	// Maintenance is the annotation with the windows in which the workload may be rolled.
	Maintenance string
	// Keys is the annotation with the keys of all configs whose change matters: see ParseKeys.
	Keys string
}

// StrategyChoice is an annotation that chooses a strategy.
type StrategyChoice struct {
	Key string
	// Names has the name of the strategy for each value. A value that is not there chooses the installation's default.
	Names map[string]string
	// Strict says that another value is a fault.
	Strict bool
}

func (c Choices) keeps(key string) bool {
	if key == "" {
		return false
	}
	for _, s := range c.Strategy {
		if s.Key == key {
			return true
		}
	}
	return slices.Contains([]string{c.PausePeriod, c.PausedAt, c.Window, c.MinInterval, c.Maintenance, c.Keys}, key)
}

// Strategy returns the name of the strategy that w chooses; empty means the installation's default.
func (d *Dialect) Strategy(w *workload.Workload) string {
	choice := d.Choices.Strategy[w.Kind]
	return choice.Names[w.Annotations[choice.Key]]
}

// maxWindow bounds a workload's own quiet window.
const maxWindow = 24 * time.Hour

// maxPausePeriod bounds a pause. A longer one is taken for a mistake: the workload would seem never to roll.
const maxPausePeriod = 7 * 24 * time.Hour

// Pause is what a workload says about holding back its rollout after a mark.
type Pause struct {
	// Period is how long; 0 if the workload does not ask for it.
	Period time.Duration
	// Dialect is the name of the dialect that says so, and Key its annotation that says since when; both are empty if none has one.
	Dialect, Key string
	// Begun reports whether a pause was begun by the tool and not ended yet, and Until is when it is over; zero means at once.
	Begun bool
	Until time.Time
}

// Pause returns what w says. Only Deployments can be paused.
func (d *Dialect) Pause(w *workload.Workload) Pause {
	if w.Kind != workload.Deployment.Kind || d.Choices.PausedAt == "" {
		return Pause{}
	}
	period, err := pausePeriod(w.Annotations[d.Choices.PausePeriod])
	p := Pause{Dialect: d.Name, Key: d.Choices.PausedAt}
	if err == nil {
		p.Period = period
	}
	at, begun := w.Annotations[d.Choices.PausedAt]
	p.Begun = begun
	if since, err := time.Parse(time.RFC3339, at); err == nil && reloader.Storable(since) && p.Period > 0 {
		p.Until = since.Add(p.Period)
	}
	return p
}

// pausePeriod parses a period; none is zero.
func pausePeriod(value string) (time.Duration, error) {
	return duration(value, maxPausePeriod)
}

// duration parses a duration of at most longest; none is zero.
func duration(value string, longest time.Duration) (time.Duration, error) {
	if value == "" {
		return 0, nil
	}
	period, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%.40q is no duration, such as 5m", value)
	case period < 0 || period > longest:
		return 0, fmt.Errorf("%.40q is not between 0 and %s", value, longest)
	}
	return period, nil
}

// problems returns what is wrong with the choices of w.
func (c Choices) problems(w *workload.Workload) []string {
	var found []string
	if _, err := pausePeriod(w.Annotations[c.PausePeriod]); c.PausePeriod != "" && err != nil {
		found = append(found, c.PausePeriod+": "+err.Error()+"; the rollout is not held back")
	}
	for _, d := range []struct {
		key     string
		longest time.Duration
		instead string
	}{{c.Window, maxWindow, "the installation's holds"}, {c.MinInterval, maxPausePeriod, "the longest possible holds"}} {
		if _, err := duration(w.Annotations[d.key], d.longest); d.key != "" && err != nil {
			found = append(found, d.key+": "+err.Error()+"; "+d.instead)
		}
	}
	if _, err := c.maintenance(w); err != nil {
		found = append(found, c.Maintenance+": "+err.Error()+"; it is not rolled until this can be read")
	}
	if _, err := c.keys(w); err != nil {
		found = append(found, c.Keys+": "+err.Error()+"; every key counts")
	}
	choice := c.Strategy[w.Kind]
	if value, said := w.Annotations[choice.Key]; said && choice.Strict && choice.Names[value] == "" {
		names := strings.Join(slices.Sorted(maps.Keys(choice.Names)), ", ")
		found = append(found, fmt.Sprintf("%s: %.40q is not one of %s; the installation's strategy holds", choice.Key, value, names))
	}
	for kind, choice := range c.Strategy {
		if _, said := w.Annotations[choice.Key]; said && c.Strategy[w.Kind].Key != choice.Key {
			found = append(found, choice.Key+": says nothing on a "+w.Kind+", only on a "+kind)
		}
	}
	return found
}
