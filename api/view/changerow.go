package view

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// ChangeRow is one change and all that came of it.
type ChangeRow struct {
	Change
	Reloads []ReloadSummary `json:"reloads" nullable:"false" doc:"What became of it, workload by workload, oldest first."`
	Pending []PendingReload `json:"pending" nullable:"false" doc:"The workloads that still wait to be rolled for it."`
}

// ReloadSummary is a reload without what the row says already.
type ReloadSummary struct {
	ID             string      `json:"id" doc:"Identifies the reload."`
	Cluster        string      `json:"cluster" doc:"The cluster that the workload is in, which follows the config if the change is another's."`
	Workload       WorkloadRef `json:"workload" doc:"The workload."`
	Outcome        Reason      `json:"outcome" doc:"What became of the reload."`
	Message        string      `json:"message,omitempty" doc:"Explains an outcome other than Reloaded, for people."`
	DecidedAt      time.Time   `json:"decidedAt" doc:"When the quiet window closed and the work began."`
	PatchedAt      time.Time   `json:"patchedAt,omitzero" doc:"When the API server had accepted the patch. Absent if nothing was written."`
	Rollout        *Rollout    `json:"rollout,omitempty" doc:"What became of the patch. Absent as long as that is not decided, or if nobody followed it."`
	LatencySeconds *float64    `json:"latencySeconds,omitempty" doc:"Seconds from the earliest request behind the reload to patchedAt; from decidedAt if something held it back on purpose. Absent if either is not known."`
}

// PendingReload is a workload that waits to be rolled.
type PendingReload struct {
	Cluster  string      `json:"cluster" doc:"The cluster that the workload is in, which follows the config if the change is another's."`
	Workload WorkloadRef `json:"workload" doc:"The workload."`
	Hold     *Hold       `json:"hold,omitempty" doc:"Why it waits. Absent if it is only its quiet window."`
}

// Summarize returns r without its causes.
func Summarize(r *reloader.Reload) ReloadSummary {
	return ReloadSummary{
		ID: r.ID, Cluster: r.Cluster, Workload: fromWorkloadRef(r.Workload), Outcome: Reason(r.Outcome), Message: r.Message, DecidedAt: r.DecidedAt,
		PatchedAt: r.PatchedAt, Rollout: fromRollout(r.Rollout), LatencySeconds: latency(r),
	}
}

// FromPending returns the view of w, which waits.
func FromPending(w *reloader.WorkloadRecord) PendingReload {
	return PendingReload{Cluster: w.Cluster, Workload: fromWorkloadRef(w.Workload), Hold: fromHold(w.Hold)}
}
