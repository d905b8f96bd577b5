package strategy

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// Wave keeps the pods of a new workload from being scheduled until its configs exist. Once Wave is gone, they would wait forever.
const (
	// SchedulingKey is Wave's annotation on a workload with the name of the scheduler that its pods had before.
	SchedulingKey = "wave.pusher.com/scheduling-disabled"
	// NoScheduler is the schedulerName that Wave gives such pods.
	NoScheduler = "wave.pusher.com/invalid"
)

// Unscheduled reports whether Wave has kept the pods of w from being scheduled.
func Unscheduled(w *workload.Workload) bool {
	return w.TemplateOf == nil && w.Template.Scheduler == NoScheduler
}

// ReleaseScheduling returns the operations that give the pods of w the scheduler that they had before Wave.
func ReleaseScheduling(w *workload.Workload) []Op {
	var ops []Op
	scheduler, says := w.Annotations[SchedulingKey]
	if says {
		ops = append(ops, Op{Op: "remove", Path: Pointer("metadata", "annotations", SchedulingKey)})
	}
	if scheduler == "" || scheduler == NoScheduler {
		scheduler = corev1.DefaultSchedulerName
	}
	return append(ops, Op{Op: "add", Path: w.Template.Path + Pointer("spec", "schedulerName"), Value: scheduler})
}
