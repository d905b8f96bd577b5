package strategy

import (
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// EnvVars writes each mark as an environment variable of one container, named after the config, as Stakater Reloader does by
// default. Configs whose names differ in punctuation only share a variable.
var EnvVars = Strategy{Name: "env-vars", Current: currentEnvVar, Patch: patchEnvVars, Tidy: tidyEnvVars, Taken: takenEnvVar, Shares: shareEnvVar}

// EnvName returns the name of the variable that stands for c. Every run of characters other than letters and digits becomes one
// underscore, except that it is dropped at the start.
func EnvName(c reloader.Config) string {
	return workload.MarkPrefix + envWord(c.Name, true) + "_" + strings.ToUpper(string(c.Kind))
}

// envWord returns a name as part of a variable's: in upper case, with one underscore for every run of characters other than letters and
// digits; trimmed drops it at the start.
func envWord(name string, trimmed bool) string {
	var b strings.Builder
	gap := trimmed
	for _, ch := range []byte(strings.ToUpper(name)) {
		valid := ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
		switch {
		case valid:
			b.WriteByte(ch)
		case !gap:
			b.WriteByte('_')
		}
		gap = !valid
	}
	return b.String()
}

// envVar is an environment variable as the patch writes it.
type envVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func currentEnvVar(w *workload.Workload, c reloader.Config) (string, bool) {
	i, err := carrier(w, c)
	if err != nil {
		return "", false
	}
	m, found := markNamed(w.Template.Containers[i], EnvName(c))
	return m.Value, found && m.Value != ""
}

// shareEnvVar reports whether a and b are named alike but for punctuation, and marked in the same container.
func shareEnvVar(w *workload.Workload, a, b reloader.Config) bool {
	i, errA := carrier(w, a)
	j, errB := carrier(w, b)
	return errA == nil && errB == nil && i == j && EnvName(a) == EnvName(b)
}

// takenEnvVar reports whether the variable that stands for c is somebody's own: it does not have a hash as its value.
func takenEnvVar(w *workload.Workload, c reloader.Config) bool {
	i, err := carrier(w, c)
	if err != nil {
		return false
	}
	m, found := markNamed(w.Template.Containers[i], EnvName(c))
	return found && m.Value == ""
}

// markNamed returns the last mark of that name in c: if a name is there twice, the last one is what the process sees.
func markNamed(c workload.Container, name string) (workload.EnvMark, bool) {
	var found workload.EnvMark
	ok := false
	for _, m := range c.Marks {
		if m.Name == name {
			found, ok = m, true
		}
	}
	return found, ok
}

// patchEnvVars replaces the variables that are there, in place, and adds the others at the end, the newest first.
func patchEnvVars(w *workload.Workload, marks []Mark) ([]Op, error) {
	writer := newEnvWriter(w)
	for _, m := range newestFirst(marks) {
		i, err := carrier(w, m.Config)
		if err != nil {
			return nil, err
		}
		writer.set(i, envVar{Name: EnvName(m.Config), Value: m.Value})
	}
	return writer.ops, nil
}

func envPath(w *workload.Workload, container int, rest ...string) string {
	return w.Template.Path + Pointer(append([]string{"spec", "containers", strconv.Itoa(container), "env"}, rest...)...)
}
