package strategy

import (
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The pod template annotations in which tools keep one mark for all configs of a workload together.
const (
	SAPHashKey  = "pod-reloader.cs.sap.com/config-hash"
	WaveHashKey = "wave.pusher.com/config-hash"
)

// SAP writes the mark as SAP's pod-reloader does, and Wave as Wave does.
var (
	SAP  = joint("sap", SAPHashKey)
	Wave = joint("wave", WaveHashKey)
)

// joint returns the strategy that keeps one mark for all configs together in a pod template annotation. All marks of one call to
// Patch have the same value.
func joint(name, key string) Strategy {
	current := func(w *workload.Workload, _ reloader.Config) (string, bool) {
		value := workload.MarkValue(w.Template.Annotations[key])
		return value, value != ""
	}
	return Strategy{Name: name, Current: current, Patch: func(w *workload.Workload, marks []Mark) ([]Op, error) {
		for _, m := range newestFirst(marks) {
			if value, _ := current(w, m.Config); value != m.Value {
				return annotateTemplate(w, key, m.Value), nil
			}
		}
		return nil, nil
	}}
}
