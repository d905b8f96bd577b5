package strategy

import (
	"time"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// Pause returns the operations that hold back the rollout of a Deployment from now on, with the annotation that says since when.
func Pause(w *workload.Workload, key string, now time.Time) []Op {
	return append(Annotate(w, key, now.UTC().Format(time.RFC3339)), Op{Op: "add", Path: Pointer("spec", "paused"), Value: true})
}

// Resume returns the operations that end a pause that Pause began, if it is still that pause.
func Resume(w *workload.Workload, key string) []Op {
	at := Pointer("metadata", "annotations", key)
	return []Op{
		{Op: "test", Path: Pointer("metadata", "uid"), Value: w.UID},
		{Op: "test", Path: at, Value: w.Annotations[key]},
		{Op: "remove", Path: at},
		{Op: "add", Path: Pointer("spec", "paused"), Value: false},
	}
}
