package adoption

import (
	"strings"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Trace is what one tool's users and the tool itself have written on a workload.
type Trace struct {
	// Dialect is the name of the tool's dialect.
	Dialect string `json:"dialect"`
	// Annotations are those by which somebody asks the tool for something.
	Annotations []Annotation `json:"annotations"`
	// Marks are what the tool has written, or Reroll in its place.
	Marks []Mark `json:"marks"`
}

// Annotation is one annotation of a workload or, if it says so, of its pod template.
type Annotation struct {
	Key      string `json:"key"`
	Value    string `json:"value"`
	Template bool   `json:"template,omitempty"`
}

// Mark is where a mark stands.
type Mark struct {
	// Name is that of a variable or the key of an annotation.
	Name string `json:"name"`
	// Container is the container that has the variable; empty for an annotation.
	Container string `json:"container,omitempty"`
	// Template says that the annotation is one of the pod template.
	Template bool `json:"template,omitempty"`
}

// maxShown bounds how much is shown of a value that somebody wrote, in characters.
const maxShown = 200

// traces returns what the tools of all have left on w.
func traces(all dialect.Set, w *workload.Workload) []Trace {
	var found []Trace
	for _, d := range all {
		t := Trace{Dialect: d.Name, Annotations: asked(d, w), Marks: marks(d, w)}
		if len(t.Annotations)+len(t.Marks) > 0 {
			found = append(found, t)
		}
	}
	return found
}

// asked returns the annotations that d reads of workloads, wherever they stand on w.
func asked(d *dialect.Dialect, w *workload.Workload) []Annotation {
	found := []Annotation{}
	for _, key := range keysOf(dialect.Set{d}) {
		if value, ok := w.Annotations[key]; ok {
			found = append(found, Annotation{Key: key, Value: shortened(value)})
		}
		if value, ok := w.Template.Annotations[key]; ok {
			found = append(found, Annotation{Key: key, Value: shortened(value), Template: true})
		}
	}
	return found
}

func shortened(value string) string {
	if runes := []rune(value); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return value
}

// variables has the beginning of the variables by which each tool marks containers.
var variables = map[string]string{"stakater": workload.MarkPrefix, "collaborne": workload.CollabornePrefix, "fabric8": workload.Fabric8Prefix}

// marks returns the marks of d's tool on w. Reroll's own are those of Stakater Reloader, and are told as such.
func marks(d *dialect.Dialect, w *workload.Workload) []Mark {
	found := []Mark{}
	for _, c := range w.Template.Containers {
		for _, m := range c.Marks {
			if prefix := variables[d.Name]; prefix != "" && strings.HasPrefix(m.Name, prefix) && m.Value != "" {
				found = append(found, Mark{Name: m.Name, Container: c.Name})
			}
		}
	}
	for _, key := range sortedKeys(w.Template.Annotations) {
		if d.WritesAnnotation(key) {
			found = append(found, Mark{Name: key, Template: true})
		}
	}
	return found
}
