package reloader

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cause is one change behind a reload, as the reload saw it.
type Cause struct {
	ChangeID    string      `json:"changeID" doc:"The change's ID; its record may have been dropped since."`
	Config      Config      `json:"config" doc:"The config that changed."`
	Why         Reason      `json:"why" doc:"Why the workload asks for this config."`
	Clause      string      `json:"clause,omitempty" doc:"The annotation that says so."`
	OldSum      string      `json:"oldSum,omitempty" doc:"Keyed fingerprint of the content before, lower-case hex."`
	NewSum      string      `json:"newSum,omitempty" doc:"Keyed fingerprint of the content after, lower-case hex."`
	Keys        []KeyChange `json:"keys,omitempty" doc:"The keys that the change touched. Absent if that is not known."`
	Candidates  []Candidate `json:"candidates,omitempty" doc:"The possible authors of the change. If there are several, any of them may have made it."`
	Source      Source      `json:"source" doc:"What reported the change." example:"audit"`
	RequestedAt time.Time   `json:"requestedAt,omitzero" doc:"When the API server ended the request. Absent if none was reported."`
	ReceivedAt  time.Time   `json:"receivedAt,omitzero" doc:"When the report of the request reached Reroll."`
	VerifiedAt  time.Time   `json:"verifiedAt" doc:"When the live object was read."`
	Container   string      `json:"container,omitempty" doc:"The container that carries the mark, for strategies that choose one."`
}

// Reload is one roll of one workload, or the record of why it did not roll although a change asked for it.
type Reload struct {
	ID        string      `json:"id" doc:"Identifies the reload." example:"r-mfrggzdfmztwq2lk"`
	Cluster   string      `json:"cluster" doc:"The cluster that the workload is in."`
	Workload  WorkloadRef `json:"workload" doc:"The workload of the decision."`
	Dialect   string      `json:"dialect,omitempty" doc:"Whose annotations asked for the reload." example:"stakater"`
	Strategy  string      `json:"strategy,omitempty" doc:"How the mark was written." example:"env-vars"`
	Outcome   Reason      `json:"outcome" doc:"What became of the reload."`
	Message   string      `json:"message,omitempty" doc:"Explains the outcome, for people. Absent for most that are Reloaded."`
	Causes    []Cause     `json:"causes,omitempty" doc:"The changes that asked for this reload. Several if they fell into one debounce window; absent in the summaries of a change."`
	Rollout   *Rollout    `json:"rollout,omitempty" doc:"The result of the rollout. Absent while it is undecided, or if Reroll does not watch it."`
	Requested string      `json:"requested,omitempty" doc:"The value of the annotation reroll.dev/requested, if that asked for the reload and not a change; then there are no causes."`
	Pods      *Asked      `json:"pods,omitempty" doc:"The running pods that were to take the content without a restart. Absent for other strategies."`
	Shortened bool        `json:"shortened,omitempty" doc:"Whether the record lacks details, and perhaps the ends of its lists and texts, because it would have been too large."`
	DecidedAt time.Time   `json:"decidedAt" doc:"When the debounce window closed and the work began."`
	PatchedAt time.Time   `json:"patchedAt,omitzero" doc:"When the API server had accepted the patch. Absent if nothing was written."`
	// LatencySeconds is that of Took.
	LatencySeconds float64 `json:"latencySeconds,omitempty" doc:"Seconds from the earliest requestedAt of the causes to patchedAt, by the clocks of two machines; from decidedAt if something held the reload back on purpose, such as a freeze. Absent if either is."`
}

// Asked counts pods that were to take new content without a restart.
type Asked struct {
	Asked    int      `json:"asked" minimum:"0" doc:"How many pods were asked."`
	Answered int      `json:"answered" minimum:"0" doc:"How many of them took the content, as far as they say."`
	Failed   int      `json:"failed" minimum:"0" doc:"How many did not, or not yet."`
	Names    []string `json:"failedPods,omitempty" doc:"The names of the first of those that did not."`
}

// String is how tables and Events show the pods; empty if there is nothing to show.
func (a *Asked) String() string {
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("%d asked, %d answered, %d failed", a.Asked, a.Answered, a.Failed)
	if len(a.Names) > 0 {
		text += " (" + strings.Join(a.Names, ", ") + ")"
	}
	return text
}

// Took returns the seconds from the earliest request behind the reload until its patch, or from the end of the wait if something held it back on
// purpose; 0 if either is not known.
func (r Reload) Took(heldBack bool) float64 {
	from := r.DecidedAt
	if !heldBack {
		from = time.Time{}
		for _, c := range r.Causes {
			if from.IsZero() || !c.RequestedAt.IsZero() && c.RequestedAt.Before(from) {
				from = c.RequestedAt
			}
		}
	}
	if from.IsZero() || r.PatchedAt.IsZero() {
		return 0
	}
	return r.PatchedAt.Sub(from).Seconds()
}

// Latency returns LatencySeconds, and whether it is known.
func (r Reload) Latency() (took time.Duration, ok bool) {
	return time.Duration(r.LatencySeconds * float64(time.Second)), r.LatencySeconds != 0
}

// Rollout is what became of a workload after it was given a new template.
type Rollout struct {
	Result    Reason    `json:"result" doc:"Rolling, RolledOut, Stalled, Overtaken or WaitingForOperator. A waiting or stalled one may still roll out."`
	Message   string    `json:"message,omitempty" doc:"Explains a result other than RolledOut, for people."`
	StartedAt time.Time `json:"startedAt" doc:"When the template was written, or when the rollout continued after it had waited."`
	EndedAt   time.Time `json:"endedAt,omitzero" doc:"When the result was seen. Absent while it is Rolling."`
	Undone    bool      `json:"undone,omitempty" doc:"Whether the template has lost the mark since, as after a rollback or when a GitOps tool reverts it. If that was before the rollout completed, pods that were not replaced keep the old content. If it was later, all pods were restarted."`
}

// ReloadID derives the identity of a reload from the workload and the content it is brought to, not from how it came about: it is
// written on the workload next to the mark, and a process that finds it there knows that the workload is at that content, anyone who
// brought it there and whether or not that is on record. Content that comes back later has the same ID again.
func ReloadID(cluster, uid string, causes []Cause) string {
	parts := make([]string, 0, 2+len(causes)*2)
	parts = append(parts, cluster, uid)
	sorted := slices.SortedFunc(slices.Values(causes), func(a, b Cause) int {
		return strings.Compare(a.Config.String(), b.Config.String())
	})
	for _, c := range sorted {
		parts = append(parts, c.Config.String(), c.NewSum)
	}
	return "r-" + shortID(parts...)
}

// RollID names the nth roll of a workload.
func RollID(cluster, uid string, n uint64) string {
	return "r-" + shortID("roll", cluster, uid, fmt.Sprint(n))
}

// ValueID stands for the value of an annotation, however long; empty for an empty one.
func ValueID(value string) string {
	if value == "" {
		return ""
	}
	return shortID("value", value)
}
