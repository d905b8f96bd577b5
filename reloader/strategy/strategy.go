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

// Roll is one roll of one workload.
type Roll struct {
	// Ops change the object that carries the pod template, if it is still as it was read.
	Ops          []Op
	FieldManager string
	// Name tells this roll from every other of the same object, also by a process that repeats it after a crash: what is made once
	// is named after it. A DNS label of 18 characters.
	Name string
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
	// Taken reports whether the place of the mark for c holds something that is no mark and must stay; nil if that cannot be.
	Taken func(w *workload.Workload, c reloader.Config) bool
	// Shares reports whether the marks for a and b have the same place in w; nil if no two have.
	Shares func(w *workload.Workload, a, b reloader.Config) bool
	// Tidy returns the operations that take away the marks of configs that are gone and, unless wanted is nil, of all but those that
	// are wanted, also where one is not in the container that carries it. Tidy is nil if the strategy leaves nothing behind. The
	// operations come after those of Patch.
	Tidy func(w *workload.Workload, wanted, gone []reloader.Config) []Op
	// ByTime says that the strategy writes nothing but a time, so that Request has to write it, too.
	ByTime bool
	// Own says that the mark goes to the workload itself also if its pod template is another object's.
	Own bool
}

// Target returns the object that the strategy writes to: w, or the object whose pod template it runs.
func (s Strategy) Target(w *workload.Workload) *workload.Workload {
	if w.Via != nil && !s.Own {
		return w.Via
	}
	return w
}

// All lists the strategies that work for every kind of workload and can be chosen for all at once; the first is the default.
var All = []Strategy{EnvVars, Annotations}

// special are the strategies of single kinds, which a workload asks for itself.
var special = []Strategy{Restart}

// others are the strategies of other tools, which their dialects ask for.
var others = []Strategy{SAP, Wave, Collaborne, Fabric8, Trigger}

// Named returns the strategy of that name, also if it is one of a single kind or of another tool.
func Named(name string) (Strategy, bool) {
	for _, s := range slices.Concat(All, special, others) {
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
	i := max(0, w.Template.Carrier(c))
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
