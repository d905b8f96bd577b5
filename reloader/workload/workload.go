package workload

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// Workload is the stripped form of an object that has a pod template. Its ObjectMeta has name, namespace, UID, generation,
// resource version, creation and deletion time, labels, and the annotations that were asked for; *Workload is a metav1.Object. A Workload
// is never changed after Strip.
type Workload struct {
	metav1.ObjectMeta
	// Kind is the kind of the object, such as Deployment.
	Kind string
	// LastWritten is when something of the object, or of Via, other than a subresource, such as status or scale, was last written, by the managed fields;
	// zero if they do not say.
	LastWritten time.Time
	// Selector selects the workload's pods, as requests have it. It is empty if the workload has none, or one that selects the pods of others, too.
	Selector string
	// Dormant reports whether the workload is suspended or has finished, so that nothing of it must be started.
	Dormant bool
	// Paused reports whether the controller leaves template changes alone for now; of Deployments only.
	Paused bool
	// Progress is how far the newest template is rolled out; zero for kinds that nothing rolls out of, as CronJobs.
	Progress Progress
	Template Template
	// TemplateOf names the object whose pod template this workload runs, as the workloadRef of a Rollout does; nil if it has one
	// of its own. Via is that object once it is known; Template then is that of Via.
	TemplateOf *reloader.WorkloadRef
	Via        *Workload
}

// Through returns w with the pod template of via, the object that TemplateOf names.
func (w *Workload) Through(via *Workload) *Workload {
	joined := *w
	joined.Via, joined.Template, joined.Progress = via, via.Template, w.Progress.through(via.Generation)
	joined.LastWritten = reloader.Later(w.LastWritten, via.LastWritten)
	if joined.Selector == "" {
		joined.Selector = via.Selector
	}
	return &joined
}

// Ref names w.
func (w *Workload) Ref() reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// Roll returns how workloads of w's kind are rolled.
func (w *Workload) Roll() Roll {
	kind, _ := KindNamed(w.Kind)
	return kind.Roll
}

// Alike reports whether w and other differ only in their progress.
func (w *Workload) Alike(other *Workload) bool {
	return w.same(other) && w.LastWritten.Equal(other.LastWritten) && w.DeletionTimestamp.IsZero() == other.DeletionTimestamp.IsZero() &&
		maps.Equal(w.Annotations, other.Annotations) && maps.Equal(w.Labels, other.Labels)
}

// same reports whether other is w with the same spec and the same template.
func (w *Workload) same(other *Workload) bool {
	if w == nil || other == nil {
		return w == other
	}
	return w.UID == other.UID && w.Generation == other.Generation && w.Dormant == other.Dormant && w.Via.same(other.Via)
}

// MarkManager is the field manager under which marks are written, by Stakater Reloader and by us.
const MarkManager = "Reloader"

// HashEnv is the variable that Reroll's own env-vars writes. MarkPrefix starts the name of each variable of Stakater Reloader,
// CollabornePrefix of kubernetes-reloader, and Fabric8Prefix of configmapcontroller.
const (
	HashEnv          = "REROLL_CONFIG_HASH"
	MarkPrefix       = "STAKATER_"
	CollabornePrefix = "_RELOADER_"
	Fabric8Prefix    = "FABRIC8_"
)
