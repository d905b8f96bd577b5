package view

import (
	"github.com/reroll-dev/reroll/reloader"
)

// HeldWorkload is a workload that waits longer than for its quiet window.
type HeldWorkload struct {
	Cluster    string          `json:"cluster" doc:"The cluster that the workload is in."`
	Workload   WorkloadRef     `json:"workload" doc:"The workload."`
	Hold       Hold            `json:"hold" doc:"Why it waits, since when, and until when."`
	Dead       bool            `json:"dead" doc:"Whether somebody has to look: the API server refuses the patch for good, it failed many times in a row, or the workload cannot be given a mark."`
	Pending    []PendingConfig `json:"pending" nullable:"false" doc:"The changes that it waits to be rolled for."`
	LastReload string          `json:"lastReload,omitempty" doc:"The ID of its last reload."`
}

// PendingConfig is a config whose change a workload waits for.
type PendingConfig struct {
	Config Config `json:"config" doc:"The config that changed."`
	Change string `json:"change" doc:"The ID of the change."`
}

// FromHeld returns the view of w, which is held.
func FromHeld(w *reloader.WorkloadRecord) HeldWorkload {
	v := HeldWorkload{
		Cluster: w.Cluster, Workload: fromWorkloadRef(w.Workload), Hold: *fromHold(w.Hold), Dead: w.Hold.DeadLetter(),
		Pending: []PendingConfig{}, LastReload: w.LastReload,
	}
	for _, e := range w.Edges {
		if e.Pending != "" {
			v.Pending = append(v.Pending, PendingConfig{Config: fromConfig(e.Config), Change: e.Pending})
		}
	}
	return v
}
