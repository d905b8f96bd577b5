package mark

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// WaveHashKey is the pod template annotation of Wave.
const WaveHashKey = "wave.pusher.com/config-hash"

// Wave writes one hash for all configs together, as Wave does.
var Wave = joint("wave", WaveHashKey)

// Wave keeps the pods of a new workload from being scheduled until its configs exist. Once Wave is gone, they would wait forever.
const (
	// SchedulingKey is Wave's annotation on a workload with the name of the scheduler that its pods had before.
	SchedulingKey = "wave.pusher.com/scheduling-disabled"
	// NoScheduler is the schedulerName that Wave gives such pods.
	NoScheduler = "wave.pusher.com/invalid"
)

// Unscheduled reports whether Wave keeps the pods of w from being scheduled.
func Unscheduled(w *workload.Workload) bool {
	return w.TemplateOf == nil && w.Template.Scheduler == NoScheduler
}

// Release returns the roll that gives the pods of w the scheduler that they had before Wave.
func Release(w *workload.Workload) Roll {
	r := Roll{Scheduler: w.Annotations[SchedulingKey], Annotations: map[string]any{SchedulingKey: nil}}
	if r.Scheduler == "" || r.Scheduler == NoScheduler {
		r.Scheduler = corev1.DefaultSchedulerName
	}
	return r
}
