package mark

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// Roll is what one roll writes.
type Roll struct {
	// Name names what is made once, such as the Job of a CronJob: a roll that is repeated after a crash has the same name. It has 16 letters
	// and digits in lower case.
	Name string
	// Hash is the value of HashKey, and of HashEnv if that is among the marks; empty for what must not change the pod template, such as the
	// end of a pause.
	Hash string
	// Marks are the marks of tools. Of two in the same place the later counts.
	Marks []Mark
	// Annotations are annotations of the object itself, and Spec fields of its own spec, such as paused or restartAt. Values are strings
	// and booleans; nil removes what is there.
	Annotations, Spec map[string]any
	// Scheduler is the schedulerName of the pods; empty leaves it as it is.
	Scheduler string
}

// Patch returns the strategic merge patch of a roll of w, which must be the object that has the pod template.
func Patch(w *workload.Workload, r Roll) ([]byte, error) {
	if w.UID == "" || w.ResourceVersion == "" {
		return nil, errors.New("the workload has no UID or resource version to patch against")
	}
	return patch(w, r)
}

// patch names UID and resource version only if w has them: an object that is about to be created has neither.
func patch(w *workload.Workload, r Roll) (body []byte, err error) {
	root, template := map[string]any{}, strings.Split(w.Template.Path, "/")[1:]
	set := func(value any, path ...string) {
		err = errors.Join(err, unstructured.SetNestedField(root, value, path...))
	}
	for field, value := range map[string]string{"uid": string(w.UID), "resourceVersion": w.ResourceVersion} {
		if value != "" {
			set(value, "metadata", field)
		}
	}
	for key, value := range r.Annotations {
		set(value, "metadata", "annotations", key)
	}
	for field, value := range r.Spec {
		set(value, "spec", field)
	}
	r.Marks = slices.Clone(r.Marks)
	for i, m := range r.Marks {
		if m.Env == HashEnv {
			r.Marks[i].Value = r.Hash
		}
	}
	if r.Hash != "" {
		r.Marks = append(r.Marks, Mark{Place: Place{Annotation: HashKey}, Value: r.Hash})
	}
	if r.Scheduler != "" {
		set(r.Scheduler, slices.Concat(template, []string{"spec", "schedulerName"})...)
	}
	if w.TemplateOf != nil && (len(r.Marks) > 0 || r.Scheduler != "") {
		err = errors.Join(err, fmt.Errorf("the pod template is that of %s", w.TemplateOf))
	}
	for _, m := range r.Marks {
		err = errors.Join(err, m.check(w))
		if m.Annotation != "" {
			set(m.value(), slices.Concat(template, []string{"metadata", "annotations", m.Annotation})...)
		}
	}
	// A strategic merge puts the list items that a patch names into the order of the patch, so containers keep theirs.
	var containers []any
	for _, c := range w.Template.Containers {
		if env := r.env(c); len(env) > 0 {
			containers = append(containers, map[string]any{"name": c.Name, "env": env})
		}
	}
	if len(containers) > 0 {
		set(containers, slices.Concat(template, []string{"spec", "containers"})...)
	}
	if err != nil {
		return nil, fmt.Errorf("make patch: %w", err)
	}
	return json.Marshal(root)
}

// env returns the variables of c in the patch: new ones first, as a merge puts them first anyway, then those that c has, in its order.
func (r Roll) env(c workload.Container) []any {
	marks := map[string]Mark{}
	for _, m := range r.Marks {
		if m.in(c.Name) {
			marks[m.Env] = m
		}
	}
	position := func(name string) int {
		return slices.IndexFunc(c.Marks, func(m workload.EnvMark) bool { return m.Name == name })
	}
	var env []any
	for _, name := range slices.SortedFunc(maps.Keys(marks), func(a, b string) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), cmp.Compare(a, b))
	}) {
		foreign := func(m workload.EnvMark) bool { return m.Name == name && m.Value == "" }
		switch {
		case !marks[name].Remove:
			env = append(env, map[string]any{"name": name, "value": marks[name].Value})
		case position(name) >= 0 && !slices.ContainsFunc(c.Marks, foreign):
			env = append(env, map[string]any{"name": name, "$patch": "delete"})
		}
	}
	return env
}
