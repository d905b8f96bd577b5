package strategy

import (
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Collaborne writes each mark as a variable of one container, as kubernetes-reloader of Collaborne does: of the one that has the variable
// already, or else of the first.
var Collaborne = Strategy{Name: "collaborne", Current: currentCollaborne, Patch: patchCollaborne, Taken: takenCollaborne, Shares: shareCollaborne}

// CollaborneEnvName returns the name of the variable that stands for c: every run of other characters than letters and digits is one
// underscore, so that names which differ in punctuation only share a variable.
func CollaborneEnvName(c reloader.Config) string {
	return workload.CollabornePrefix + envWord(strings.ToLower(string(c.Kind))+"_"+c.Name, false)
}

// collaborneMark returns the mark for c and the container that has it; the first container if none does.
func collaborneMark(w *workload.Workload, c reloader.Config) (container int, m workload.EnvMark, found bool) {
	name := CollaborneEnvName(c)
	for i := range w.Template.Containers {
		if m, ok := markNamed(w.Template.Containers[i], name); ok {
			return i, m, true
		}
	}
	return 0, workload.EnvMark{}, false
}

func currentCollaborne(w *workload.Workload, c reloader.Config) (string, bool) {
	_, m, found := collaborneMark(w, c)
	return m.Value, found && m.Value != ""
}

func takenCollaborne(w *workload.Workload, c reloader.Config) bool {
	_, m, found := collaborneMark(w, c)
	return found && m.Value == ""
}

func shareCollaborne(_ *workload.Workload, a, b reloader.Config) bool {
	return CollaborneEnvName(a) == CollaborneEnvName(b)
}

func patchCollaborne(w *workload.Workload, marks []Mark) ([]Op, error) {
	if len(marks) > 0 && len(w.Template.Containers) == 0 {
		return nil, ErrNoContainer
	}
	writer := newEnvWriter(w)
	for _, m := range newestFirst(marks) {
		i, _, _ := collaborneMark(w, m.Config)
		writer.set(i, envVar{Name: CollaborneEnvName(m.Config), Value: m.Value})
	}
	return writer.ops, nil
}
