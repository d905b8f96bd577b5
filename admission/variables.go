package admission

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// variable is an environment variable as a patch writes it.
type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// restoreVariables returns the operations that give back to a container, whose variables are now, the marks that it had among old and
// that are wanted. Each comes after the variable that it came after, so that a container from which nothing else was taken is as before:
// the order of variables is part of what a pod is made of.
func restoreVariables(path string, container int, now, old []corev1.EnvVar, marks []workload.EnvMark, wanted func(name string) bool) []strategy.Op {
	list := path + strategy.Pointer("spec", "containers", strconv.Itoa(container), "env")
	names := namesOf(now)
	var ops []strategy.Op
	for _, m := range marks {
		if m.Value == "" || slices.Contains(names, m.Name) || !wanted(m.Name) {
			continue
		}
		v := variable{m.Name, m.Value}
		if len(names) == 0 {
			names = []string{m.Name}
			ops = append(ops, strategy.Op{Op: "add", Path: list, Value: []variable{v}})
			continue
		}
		at := placeAfter(names, namesOf(old[:m.Index]))
		names = slices.Insert(names, at, m.Name)
		ops = append(ops, strategy.Op{Op: "add", Path: list + strategy.Pointer(strconv.Itoa(at)), Value: v})
	}
	return ops
}

// placeAfter returns the place in names behind the last of before that is among them; the first place if none is.
func placeAfter(names, before []string) int {
	for _, name := range slices.Backward(before) {
		if i := slices.Index(names, name); i >= 0 {
			return i + 1
		}
	}
	return 0
}

func namesOf(variables []corev1.EnvVar) []string {
	names := make([]string, len(variables))
	for i, v := range variables {
		names[i] = v.Name
	}
	return names
}
