package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// place is where a mark is: a variable of a container or, without container, an annotation of the pod template.
type place struct{ container, name string }

var hashPlace = place{"", mark.HashKey}

// restoreMarks gives back the marks that the request dropped, and replaces those of an earlier roll. If the request changes nothing else, the pod
// template is that of before, and no config is needed. A mark with a value that another tool has just written stays.
func (d *draft) restoreMarks(old object) error {
	if d.brought {
		return nil
	}
	names, err := d.markNames(old.Workload)
	if err != nil {
		return err
	}
	was, before, err := strip(old.Spec.Template, names)
	if err != nil {
		return err
	}
	is, after, err := strip(d.now.Spec.Template, names)
	if err != nil {
		return err
	}
	hash := before[hashPlace]
	earlier := hash != "" && after[hashPlace] != hash
	written := false
	for at, value := range after {
		written = written || !earlier && value != before[at]
	}
	if !written && reflect.DeepEqual(was, is) {
		if d.needs = nil; !maps.Equal(before, after) {
			d.template = old.Spec.Template
		}
		return nil
	}
	for at, value := range before {
		m := mark.Mark{Place: mark.Place{Annotation: at.name}, Value: value}
		if at.container != "" {
			m.Place = mark.Place{Env: at.name, Containers: []string{at.container}}
		}
		there := at.container == "" || d.now.Template.Has(at.container)
		if at != hashPlace && there && (after[at] == "" || earlier) && (at.name != mark.HashEnv || hash != "") {
			d.roll.Marks = append(d.roll.Marks, m)
		}
	}
	if earlier || len(d.roll.Marks) > 0 {
		d.roll.Hash = hash
	}
	return nil
}

// markNames returns the names of variables and annotations that can hold a mark of w for one of needs, whatever the strategy was. With patterns,
// which may match configs that the template does not refer to, each variable that looks like a mark is one.
func (d *draft) markNames(w *workload.Workload) (map[string]bool, error) {
	names := map[string]bool{mark.HashKey: true, mark.HashEnv: true, mark.LastReloadedFromKey: true}
	for _, c := range w.Template.Containers {
		for _, m := range c.Marks {
			names[m.Name] = names[m.Name] || m.Value != "" && len(d.plan.Patterns) > 0
		}
	}
	var entries []mark.Entry
	for _, c := range d.needs {
		entries = append(entries, mark.Entry{Config: c, Value: "0"})
	}
	for _, dl := range d.plan.Enabled {
		tool, _ := plan.Tool(dl, mark.EnvVars.Name)
		marks, err := tool.Marks(w, entries)
		if err != nil {
			return nil, err
		}
		for _, m := range marks {
			names[m.Env+m.Annotation] = true
		}
	}
	return names, nil
}

// strip returns a pod template without the marks that have one of these names, and the marks.
func strip(template json.RawMessage, names map[string]bool) (rest map[string]any, marks map[place]string, err error) {
	if err := json.Unmarshal(template, &rest); err != nil {
		return nil, nil, fmt.Errorf("read the pod template: %w", err)
	}
	marks = map[place]string{}
	metadata, _ := rest["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	maps.DeleteFunc(annotations, func(name string, value any) bool {
		if names[name] {
			marks[place{"", name}], _ = value.(string)
		}
		return names[name]
	})
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	if len(metadata) == 0 {
		delete(rest, "metadata")
	}
	spec, _ := rest["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		in, _ := container["name"].(string)
		env, _ := container["env"].([]any)
		env = slices.DeleteFunc(env, func(v any) bool {
			variable, _ := v.(map[string]any)
			name, _ := variable["name"].(string)
			value, _ := variable["value"].(string)
			if names[name] && value != "" {
				marks[place{in, name}] = value
				return true
			}
			return false
		})
		if len(env) == 0 {
			delete(container, "env")
		} else {
			container["env"] = env
		}
	}
	return rest, marks, nil
}
