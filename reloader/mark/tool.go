package mark

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Entry is what a tool marks one config with.
type Entry struct {
	Config reloader.Config
	// Value is the tool's hash of the content. An entry without a value has no mark.
	Value string
	// At is the stored time of the change. It is never "now", so that a mark written twice has the same bytes.
	At time.Time
	// Gone reports whether the config is deleted. Tools with a mark for each config then write DeletedValue or remove the mark.
	Gone bool
}

// Tool is a tool's way of marking.
type Tool struct {
	// Name is the name of the tool's way in flags and records.
	Name string
	// Read returns the value of the mark that w carries for c, and whether it carries one. The value is empty if it is not a hash.
	Read func(w *workload.Workload, c reloader.Config) (value string, found bool)
	// Marks returns what the tool writes into w. A config of another cluster has no mark, and neither has one whose place in w holds a
	// variable of the user.
	Marks func(w *workload.Workload, of []Entry) ([]Mark, error)
}

// DeletedValue is the value of the mark of a deleted config: Stakater's hash of a word that it reserves for that.
const DeletedValue = "aae45badef99284e4dae01d6046154ea9d99532f"

// General are the names of the tools whose way of marking can be chosen for all workloads. The first is the default.
var General = []string{EnvVars.Name, Annotations.Name}

// Named returns the one of General with that name.
func Named(name string) (Tool, bool) {
	tools := []Tool{EnvVars, Annotations}
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return tools[i], true
}

// Placer returns the place of the mark of c in w.
type Placer func(w *workload.Workload, c reloader.Config) (Place, error)

// Variables returns a tool that writes a variable for each config, and DeletedValue into that of a deleted one.
func Variables(name string, at Placer) Tool { return variables(name, at, false) }

// variables is Variables, and removes the variable of a deleted config if removes is true.
func variables(name string, at Placer, removes bool) Tool {
	return Tool{
		Name: name,
		Read: func(w *workload.Workload, c reloader.Config) (string, bool) {
			place, err := at(w, c)
			value, _ := place.Find(w)
			return value, err == nil && value != ""
		},
		Marks: func(w *workload.Workload, of []Entry) (marks []Mark, err error) {
			for _, e := range oldestFirst(of) {
				place, err := at(w, e.Config)
				if err != nil {
					return nil, err
				}
				if _, own := place.Find(w); !own {
					marks = append(marks, Mark{Place: place, Value: e.value(), Remove: removes && e.Gone})
				}
			}
			return marks, nil
		},
	}
}

// Joint returns a tool that writes one value for all configs together into an annotation of the pod template.
func Joint(name, key string) Tool {
	return Tool{
		Name: name,
		Read: func(w *workload.Workload, _ reloader.Config) (string, bool) {
			value := workload.MarkValue(w.Template.Annotations[key])
			return value, value != ""
		},
		Marks: func(_ *workload.Workload, of []Entry) (marks []Mark, err error) {
			for _, e := range of {
				if e.Value != "" {
					marks = []Mark{{Place: Place{Annotation: key}, Value: e.Value}}
				}
			}
			return marks, nil
		},
	}
}

// Annotated returns a tool that writes an annotation of the pod template for each config. A config whose key would be too long has no mark.
func Annotated(name string, key func(reloader.Config) string) Tool {
	const most = 63 // of what follows the slash
	return Tool{
		Name: name,
		Read: func(w *workload.Workload, c reloader.Config) (string, bool) {
			value := workload.MarkValue(w.Template.Annotations[key(c)])
			return value, value != ""
		},
		Marks: func(_ *workload.Workload, of []Entry) (marks []Mark, err error) {
			for _, e := range oldestFirst(of) {
				if _, after, _ := strings.Cut(key(e.Config), "/"); len(after) <= most {
					marks = append(marks, Mark{Place: Place{Annotation: key(e.Config)}, Value: e.value()})
				}
			}
			return marks, nil
		},
	}
}

func (e Entry) value() string {
	if e.Gone {
		return DeletedValue
	}
	return e.Value
}

// oldestFirst returns the entries that have a mark sorted by time, so that the newest counts where marks meet. Of entries of the same time
// the first by name is the last.
func oldestFirst(of []Entry) []Entry {
	marked := slices.DeleteFunc(slices.Clone(of), func(e Entry) bool { return e.value() == "" || e.Config.Cluster != "" })
	slices.SortFunc(marked, func(a, b Entry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(b.Config.String(), a.Config.String()))
	})
	return marked
}
