package strategy

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// A workload whose pods could not start anyway can be kept from starting any: no scheduler serves its pods until somebody lets them go. It is
// written as Wave writes it, so that either ends what the other began.
const (
	// SchedulingKey is the annotation on a workload's metadata with the name of the scheduler that is to serve its pods again.
	SchedulingKey = "wave.pusher.com/scheduling-disabled"
	// NoScheduler is the schedulerName of pods that no scheduler serves.
	NoScheduler = "wave.pusher.com/invalid"
	// WaitsForKey is the pod template annotation that says on each pod for what it waits.
	WaitsForKey = "reroll.dev/waits-for"
)

// Unscheduled reports whether no scheduler serves the pods of w. Whose scheduler somebody has named since is served, whatever its annotations
// say, and must not be rolled for them. A workload that runs another object's template is not held itself: that object is.
func Unscheduled(w *workload.Workload) bool {
	return w.TemplateOf == nil && w.Template.Scheduler == NoScheduler
}

// HoldScheduling returns the operations that keep the pods of w from being scheduled, and say on each of them for what it waits. before is
// who served them before, for a workload that has forgotten it.
func HoldScheduling(w *workload.Workload, before, waitsFor string) []Op {
	scheduler := w.Template.Scheduler
	if scheduler == NoScheduler {
		scheduler = before
	}
	ops := Annotate(w, SchedulingKey, cmp.Or(scheduler, corev1.DefaultSchedulerName))
	ops = append(ops, annotateTemplate(w, WaitsForKey, waitsFor)...)
	return append(ops, Op{Op: "add", Path: schedulerPath(w), Value: NoScheduler})
}

// ReleaseScheduling returns the operations that take back what HoldScheduling has written, whoever wrote it, of a workload that is
// Unscheduled.
func ReleaseScheduling(w *workload.Workload) []Op {
	var ops []Op
	scheduler, says := w.Annotations[SchedulingKey]
	if says {
		ops = append(ops, Op{Op: "remove", Path: Pointer("metadata", "annotations", SchedulingKey)})
	}
	if _, says := w.Template.Annotations[WaitsForKey]; says {
		ops = append(ops, Op{Op: "remove", Path: w.Template.Path + Pointer("metadata", "annotations", WaitsForKey)})
	}
	if scheduler == "" || scheduler == NoScheduler {
		scheduler = corev1.DefaultSchedulerName
	}
	return append(ops, Op{Op: "add", Path: schedulerPath(w), Value: scheduler})
}

func schedulerPath(w *workload.Workload) string {
	return w.Template.Path + Pointer("spec", "schedulerName")
}
