package view

import "github.com/reroll-dev/reroll/api/projection"

// Hello is the first event of every stream.
type Hello struct {
	Version  string `json:"version" doc:"The release that the stream comes from." example:"v0.1.0"`
	CaughtUp bool   `json:"caughtUp" doc:"Whether everything that was stored has been read. If not, resync follows when it has."`
}

// Resync says that events are missing from the stream: what the reader knows is to be read anew.
type Resync struct {
	Reason string `json:"reason" enum:"Expired,Restarted,Lagged,Rebuilt" doc:"Why: Expired, the events after Last-Event-ID are no longer kept; Restarted, Last-Event-ID is of another process; Lagged, the reader was too slow; Rebuilt, what was stored has been read, or was lost."`
}

// WorkloadGone is a workload that asks for nothing any more, or does not exist.
type WorkloadGone struct {
	Cluster  string      `json:"cluster" doc:"The cluster that the workload was in."`
	Workload WorkloadRef `json:"workload" doc:"The workload."`
}

// FromGone returns the view of the workload that key names.
func FromGone(key projection.WorkloadKey) WorkloadGone {
	return WorkloadGone{Cluster: key.Cluster, Workload: fromWorkloadRef(key.Workload)}
}
