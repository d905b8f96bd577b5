// Package view has the answers of the API next to the records themselves: what is computed for a request.
//
// The records are shown as they are stored; see package reloader. Fields are added to the published contract, never renamed or removed. Neither
// the content of a config, nor the fingerprint of a single key, nor the value of a mark is in a record that is served: package projection drops
// what is stored beyond that.
package view

import (
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// List is one page of a listing.
type List[T any] struct {
	Items    []T      `json:"items" nullable:"false" doc:"The page's items, in the listing's order."`
	Continue string   `json:"continue,omitempty" doc:"Pass this as the parameter continue, with the same filters, to get the next page. Absent on the last page."`
	Warnings []string `json:"warnings" nullable:"false" doc:"What may be missing from this answer, for people. Empty if it is complete."`
}

// Self is who asks, and which build answers.
type Self struct {
	Authenticated bool     `json:"authenticated" doc:"Whether the server knows who is asking."`
	User          string   `json:"user,omitempty" doc:"The user's name. Absent if the request is not authenticated."`
	Groups        []string `json:"groups" nullable:"false" doc:"The user's groups."`
	Version       string   `json:"version" doc:"The release that answers, or dev if it was built from a working tree." example:"v0.1.0"`
}

// ChangeRow is one change and all that came of it.
type ChangeRow struct {
	reloader.Change
	Reloads []reloader.Reload `json:"reloads" nullable:"false" doc:"What became of it, workload by workload, oldest first, without the causes."`
	Pending []PendingReload   `json:"pending" nullable:"false" doc:"The workloads that still wait to be rolled for it."`
}

// PendingReload is a workload that waits to be rolled.
type PendingReload struct {
	Cluster  string               `json:"cluster" doc:"The cluster that the workload is in, which follows the config if the change is another's."`
	Workload reloader.WorkloadRef `json:"workload" doc:"The workload."`
	Hold     *reloader.Hold       `json:"hold,omitempty" doc:"Why it waits. Absent if only the debounce window has to pass."`
}

// Workload is one opted-in workload: what it depends on, how far it is, and how it stands.
type Workload struct {
	reloader.WorkloadRecord
	Verdict verdict.Verdict `json:"verdict" doc:"How the workload stands."`
}

// FromWorkload returns the view of w, which is in cluster c, at a time. c is nil if nothing is known of it.
func FromWorkload(w *reloader.WorkloadRecord, c *projection.ClusterState, now time.Time) Workload {
	return Workload{WorkloadRecord: *w, Verdict: verdict.Judge(CaseOf(w, c, now))}
}

// CaseOf returns what is judged of w, which is in cluster c, at a time. c is nil if nothing is known of it.
func CaseOf(w *reloader.WorkloadRecord, c *projection.ClusterState, now time.Time) verdict.Case {
	found := verdict.Case{Cluster: w.Cluster, Workload: w.Workload, Record: w, Now: now}
	if c != nil {
		found.Status = c.Status
	}
	return found
}

// Explained is a workload, and how it stands to each of its configs.
type Explained struct {
	Workload
	Explanations []Explanation `json:"explanations" nullable:"false" doc:"The verdict for each of its configs, or for those that the filter selects."`
	Warnings     []string      `json:"warnings" nullable:"false" doc:"What the answer may be missing. Empty means that it is complete."`
}

// Explanation says how a workload stands to one config.
type Explanation struct {
	Config reloader.Config `json:"config" doc:"The config."`
	verdict.Verdict
	Change *reloader.Change `json:"change,omitempty" doc:"The newest change of the config. Absent if none is on record, or if the workload may not know it."`
}
