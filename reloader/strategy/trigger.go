package strategy

import (
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Trigger writes each mark as an annotation of the pod template, as k8s-trigger-controller does.
var Trigger = Strategy{Name: "trigger", Current: currentTrigger, Patch: patchTrigger, Taken: takenTrigger}

// TriggerPrefix starts every annotation of k8s-trigger-controller.
const TriggerPrefix = "trigger.k8s.io/"

// maxAnnotationName is how long the part of an annotation's key after the slash may be.
const maxAnnotationName = 63

// TriggerKey returns the key of the annotation that stands for c. It is no valid key if c has a long name.
func TriggerKey(c reloader.Config) string {
	kind := "configMap-"
	if c.Kind == reloader.Secret {
		kind = "secret-"
	}
	return TriggerPrefix + kind + c.Name + "-last-hash"
}

func currentTrigger(w *workload.Workload, c reloader.Config) (string, bool) {
	value := workload.MarkValue(w.Template.Annotations[TriggerKey(c)])
	return value, value != ""
}

// takenTrigger reports whether there is no place for the mark of c: its key would be too long.
func takenTrigger(_ *workload.Workload, c reloader.Config) bool {
	return len(strings.TrimPrefix(TriggerKey(c), TriggerPrefix)) > maxAnnotationName
}

func patchTrigger(w *workload.Workload, marks []Mark) ([]Op, error) {
	var ops []Op
	present := w.Template.HasAnnotations
	for _, m := range newestFirst(marks) {
		value, _ := currentTrigger(w, m.Config)
		if value == m.Value || takenTrigger(w, m.Config) {
			continue
		}
		ops = append(ops, annotate(present, w.Template.Path+"/metadata/annotations", TriggerKey(m.Config), m.Value)...)
		present = true
	}
	return ops, nil
}
