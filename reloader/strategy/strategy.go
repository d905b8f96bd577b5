package strategy

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Mark is what a pod template is to carry for one config.
type Mark struct {
	Config reloader.Config
	// Value stands for the config's content, as the dialect's tool hashes it.
	Value string
	// At is the stored time of the change. It is never "now", so that writing a mark twice gives the same bytes.
	At time.Time
}

// Strategy is one way of writing marks.
type Strategy struct {
	// Name is the strategy's name in flags and records.
	Name string
	// Current returns the value of the mark that w carries for c, and whether it carries one. The value is empty if what stands in
	// the mark's place was not written as a mark.
	Current func(w *workload.Workload, c reloader.Config) (value string, found bool)
	// Patch returns the operations that make w carry marks; none if it does already. Marks that share a place are one: the newest
	// that w does not carry. Patch fails if w has no container.
	Patch func(w *workload.Workload, marks []Mark) ([]Op, error)
}

// All lists every strategy; the first is the default.
var All = []Strategy{EnvVars, Annotations}

// Named returns the strategy of that name.
func Named(name string) (Strategy, bool) {
	for _, s := range All {
		if s.Name == name {
			return s, true
		}
	}
	return Strategy{}, false
}

// ErrNoContainer means that a workload has no regular container that could carry a mark.
var ErrNoContainer = errors.New("the pod template has no container to carry a mark")

// carrier returns the index of the regular container that carries the mark for c: the one that uses it, or else the first.
func carrier(w *workload.Workload, c reloader.Config) (int, error) {
	i := 0
	if r := w.Template.References[c]; r != nil && r.Container != workload.NoContainer {
		i = r.Container
	}
	if i >= len(w.Template.Containers) {
		return 0, ErrNoContainer
	}
	return i, nil
}

// newestFirst returns a copy of marks sorted by time, and marks of the same time by config.
func newestFirst(marks []Mark) []Mark {
	sorted := slices.Clone(marks)
	slices.SortFunc(sorted, func(a, b Mark) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Config.String(), b.Config.String()))
	})
	return sorted
}

// ContainerName returns the name of the container that carries the mark of a config; empty if none can.
func ContainerName(w *workload.Workload, c reloader.Config) string {
	i, err := carrier(w, c)
	if err != nil {
		return ""
	}
	return w.Template.Containers[i].Name
}
