package adoption

import (
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// own is the name of Reroll's own dialect.
const own = "reroll"

// Trace is what one tool and its users have written on a workload.
type Trace struct {
	// Dialect is the name of the tool's dialect.
	Dialect string `json:"dialect"`
	// Annotations are the keys that ask the tool for something, on the workload or its pod template.
	Annotations []string `json:"annotations"`
	// Marks are the names of variables, and the keys of annotations of the pod template, that the tool or Reroll in its place has written.
	Marks []string `json:"marks"`
}

// owner returns the dialect of all in whose tool's domain key is; nil if it is in none.
func owner(all dialect.Set, key string) *dialect.Dialect {
	if i := slices.IndexFunc(all, func(d *dialect.Dialect) bool { return d.Owns(key) }); i >= 0 {
		return all[i]
	}
	return nil
}

// traces returns what the tools of all have left on w.
func traces(all dialect.Set, w *workload.Workload) []Trace {
	found := []Trace{}
	for _, d := range all {
		t := Trace{Dialect: d.Name, Annotations: []string{}, Marks: marks(d, w)}
		for _, key := range keysOf(dialect.Set{d}) {
			_, here := w.Annotations[key]
			_, there := w.Template.Annotations[key]
			if here || there {
				t.Annotations = append(t.Annotations, key)
			}
		}
		if len(t.Annotations)+len(t.Marks) > 0 {
			found = append(found, t)
		}
	}
	return found
}

// marks returns the marks of d's tool on w.
func marks(d *dialect.Dialect, w *workload.Workload) []string {
	found := []string{}
	for _, c := range w.Template.Containers {
		for _, m := range c.Marks {
			if d.Variables != "" && strings.HasPrefix(m.Name, d.Variables) && m.Value != "" {
				found = append(found, m.Name)
			}
		}
	}
	for _, key := range sortedKeys(w.Template.Annotations) {
		if d.WritesAnnotation(key) {
			found = append(found, key)
		}
	}
	return found
}

// Keeps returns which annotations of workloads and configs a Report needs: those that the dialects of all read, all others in the domain of a tool,
// and those that look like a misspelling of either.
func Keeps(all dialect.Set) func(key string) bool {
	return func(key string) bool {
		if owner(all, key) != nil || all.KeepsAnnotation(key) {
			return true
		}
		_, like := near.Word(key, keysOf(all))
		return like
	}
}

// keysOf returns the keys of all annotations that users write.
func keysOf(all dialect.Set) []string {
	var keys []string
	for _, d := range all {
		for _, c := range d.Clauses {
			if c.On != dialect.OnInstallation {
				keys = append(keys, c.Key)
			}
		}
		for _, choice := range d.Choices {
			keys = append(keys, choice.Key)
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	slices.Sort(keys)
	return slices.Compact(keys)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
