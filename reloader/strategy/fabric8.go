package strategy

import (
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Fabric8 writes each mark as a variable of every regular container, as configmapcontroller of fabric8 does.
var Fabric8 = Strategy{Name: "fabric8", Current: currentFabric8, Patch: patchFabric8, Taken: takenFabric8, Shares: shareFabric8}

// Fabric8EnvName returns the name of the variable that stands for c.
func Fabric8EnvName(c reloader.Config) string {
	return workload.Fabric8Prefix + envWord(c.Name, true) + "_CONFIGMAP"
}

// currentFabric8 returns the mark that some container carries: one that was added later may lack it until the next roll.
func currentFabric8(w *workload.Workload, c reloader.Config) (string, bool) {
	for i := range w.Template.Containers {
		if m, found := markNamed(w.Template.Containers[i], Fabric8EnvName(c)); found && m.Value != "" {
			return m.Value, true
		}
	}
	return "", false
}

// takenFabric8 reports whether some container has a variable of that name that is somebody's own.
func takenFabric8(w *workload.Workload, c reloader.Config) bool {
	for i := range w.Template.Containers {
		if m, found := markNamed(w.Template.Containers[i], Fabric8EnvName(c)); found && m.Value == "" {
			return true
		}
	}
	return false
}

func shareFabric8(_ *workload.Workload, a, b reloader.Config) bool {
	return Fabric8EnvName(a) == Fabric8EnvName(b)
}

func patchFabric8(w *workload.Workload, marks []Mark) ([]Op, error) {
	if len(marks) > 0 && len(w.Template.Containers) == 0 {
		return nil, ErrNoContainer
	}
	writer := newEnvWriter(w)
	for _, m := range newestFirst(marks) {
		for i := range w.Template.Containers {
			writer.set(i, envVar{Name: Fabric8EnvName(m.Config), Value: m.Value})
		}
	}
	return writer.ops, nil
}
