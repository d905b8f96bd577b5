package view

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// WorkloadRef names a workload inside one cluster.
type WorkloadRef struct {
	Kind      string `json:"kind" doc:"The kind of the workload." example:"Deployment"`
	Namespace string `json:"namespace" doc:"The namespace of the workload."`
	Name      string `json:"name" doc:"The name of the workload."`
}

// Cause is one change behind a reload, as the reload saw it.
type Cause struct {
	ChangeID    string      `json:"changeID" doc:"The change's ID; its record may have been dropped since."`
	Config      Config      `json:"config" doc:"The config that changed."`
	Why         Reason      `json:"why" doc:"Why the workload asks for this config."`
	Clause      string      `json:"clause,omitempty" doc:"The annotation that says so."`
	OldDigest   string      `json:"oldDigest,omitempty" doc:"Keyed fingerprint of the content before, lower-case hex."`
	NewDigest   string      `json:"newDigest,omitempty" doc:"Keyed fingerprint of the content after, lower-case hex."`
	Keys        []KeyChange `json:"keys" nullable:"false" doc:"The keys that the change touched. Empty if that is not known."`
	Candidates  []Candidate `json:"candidates" nullable:"false" doc:"Who may have made the change. With more than one, no single one is asserted."`
	Source      string      `json:"source" doc:"What made us look: audit, watch, shipped, sweep or baseline." example:"audit"`
	RequestedAt time.Time   `json:"requestedAt,omitzero" doc:"When the API server ended the request. Absent if none was reported."`
	ReceivedAt  time.Time   `json:"receivedAt,omitzero" doc:"When the report of the request reached Reroll."`
	VerifiedAt  time.Time   `json:"verifiedAt" doc:"When the live object was read."`
	Container   string      `json:"container,omitempty" doc:"The container that carries the mark, for strategies that choose one."`
}

// Reload is one roll of one workload, or why it did not roll although a change asked for it.
type Reload struct {
	ID             string      `json:"id" doc:"Identifies the reload." example:"r-mfrggzdfmztwq2lk"`
	Cluster        string      `json:"cluster" doc:"The cluster that the workload is in."`
	Workload       WorkloadRef `json:"workload" doc:"The workload that was to be rolled."`
	UID            string      `json:"uid" doc:"The UID of the workload."`
	Dialect        string      `json:"dialect,omitempty" doc:"Whose annotations asked for the reload." example:"stakater"`
	Strategy       string      `json:"strategy,omitempty" doc:"How the mark was written." example:"env-vars"`
	Outcome        Reason      `json:"outcome" doc:"What became of the reload."`
	Message        string      `json:"message,omitempty" doc:"Explains an outcome other than Reloaded, for people."`
	Causes         []Cause     `json:"causes" nullable:"false" doc:"The changes that asked for this reload. Several if they fell into one quiet window."`
	Attempts       int         `json:"attempts,omitempty" minimum:"0" doc:"How many times the patch was tried."`
	Generation     int64       `json:"generation,omitempty" doc:"The workload's metadata.generation after the patch."`
	DecidedAt      time.Time   `json:"decidedAt" doc:"When the quiet window closed and the work began."`
	PatchedAt      time.Time   `json:"patchedAt,omitzero" doc:"When the API server had accepted the patch. Absent if nothing was written."`
	Rollout        *Rollout    `json:"rollout,omitempty" doc:"What became of the patch. Absent as long as that is not decided, or if nobody followed it."`
	Requested      string      `json:"requested,omitempty" doc:"The value of the annotation reroll.dev/requested, if that asked for the reload and not a change; causes is empty then."`
	Shortened      []string    `json:"shortened,omitempty" enum:"messages,candidates,keys,causes" doc:"What the record lacks because it would have been too large with it. Absent if it is whole."`
	HeldBy         Reason      `json:"heldBy,omitempty" doc:"What held the reload back on purpose until decidedAt, such as a freeze. Absent if nothing did."`
	LatencySeconds *float64    `json:"latencySeconds,omitempty" doc:"Seconds from the earliest requestedAt of the causes to patchedAt, or from decidedAt if heldBy is set, by the clocks of two machines. Absent if either is."`
}

// Rollout is what became of a workload after it was given a new template.
type Rollout struct {
	Result    Reason    `json:"result" doc:"Rolling, RolledOut, Stalled, Overtaken or WaitingForOperator. What waits or has stalled may still roll out."`
	Message   string    `json:"message,omitempty" doc:"Explains a result other than RolledOut, for people."`
	StartedAt time.Time `json:"startedAt" doc:"When the template was written, or when the rollout went on after it had waited for somebody."`
	EndedAt   time.Time `json:"endedAt,omitzero" doc:"When the result was seen. Absent while it is Rolling."`
}

func fromRollout(r *reloader.Rollout) *Rollout {
	if r == nil {
		return nil
	}
	return &Rollout{Result: Reason(r.Result), Message: r.Message, StartedAt: r.StartedAt, EndedAt: r.EndedAt}
}

// FromReload returns the view of r.
func FromReload(r *reloader.Reload) Reload {
	return Reload{
		ID:             r.ID,
		Cluster:        r.Cluster,
		Workload:       fromWorkloadRef(r.Workload),
		UID:            r.UID,
		Dialect:        r.Dialect,
		Strategy:       r.Strategy,
		Outcome:        Reason(r.Outcome),
		Message:        r.Message,
		Causes:         each(r.Causes, fromCause),
		Attempts:       r.Attempts,
		Generation:     r.Generation,
		DecidedAt:      r.DecidedAt,
		PatchedAt:      r.PatchedAt,
		Rollout:        fromRollout(r.Rollout),
		Requested:      r.Requested,
		LatencySeconds: latency(r),
		HeldBy:         Reason(r.HeldBy),
		Shortened:      fromParts(r.Shortened),
	}
}

func fromWorkloadRef(w reloader.WorkloadRef) WorkloadRef {
	return WorkloadRef{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

func fromCause(c reloader.Cause) Cause {
	return Cause{
		ChangeID:    c.ChangeID,
		Config:      fromConfig(c.Config),
		Why:         Reason(c.Why),
		Clause:      c.Clause,
		OldDigest:   c.OldSum,
		NewDigest:   c.NewSum,
		Keys:        each(c.Keys, fromKeyChange),
		Candidates:  each(c.Candidates, fromCandidate),
		Source:      string(c.Source),
		RequestedAt: c.RequestedAt,
		ReceivedAt:  c.ReceivedAt,
		VerifiedAt:  c.VerifiedAt,
		Container:   c.Container,
	}
}

// latency returns how long Reroll took until the patch: from the first request, or from the end of the wait if something held the reload back
// on purpose. nil if either is not known.
func latency(r *reloader.Reload) *float64 {
	if r.HeldBy != "" {
		return seconds(r.DecidedAt, r.PatchedAt)
	}
	return seconds(firstRequest(r.Causes), r.PatchedAt)
}

// firstRequest returns the earliest known request of causes: the one that waited longest.
func firstRequest(causes []reloader.Cause) time.Time {
	var first time.Time
	for _, c := range causes {
		if first.IsZero() || (!c.RequestedAt.IsZero() && c.RequestedAt.Before(first)) {
			first = c.RequestedAt
		}
	}
	return first
}
