package reloader

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reason is why a workload was or was not reloaded. The list is closed; Reasons describes each.
type Reason string

// The reasons.
const (
	// Why a change asks for a reload.
	ReasonNamed     Reason = "Named"
	ReasonAuto      Reason = "Auto"
	ReasonTypedAuto Reason = "TypedAuto"
	ReasonSearch    Reason = "Search"
	// ReasonRequested: no change asks for the reload, but somebody does.
	ReasonRequested Reason = "Requested"
	// ReasonFollowed: the config is one of another cluster.
	ReasonFollowed Reason = "Followed"
	// ReasonSelected: the labels of the config match a selector.
	ReasonSelected Reason = "Selected"
	// Why a change does not ask for one.
	ReasonNotOptedIn     Reason = "NotOptedIn"
	ReasonConfigIgnored  Reason = "ConfigIgnored"
	ReasonExcluded       Reason = "Excluded"
	ReasonConfigUnmarked Reason = "ConfigUnmarked"
	ReasonNotReferenced  Reason = "NotReferenced"
	// ReasonNotShared is that of a config of another namespace.
	ReasonNotShared Reason = "NotShared"
	// ReasonWorkloadIgnored and ReasonConfigUnselected switch one side off altogether.
	ReasonWorkloadIgnored  Reason = "WorkloadIgnored"
	ReasonConfigUnselected Reason = "ConfigUnselected"
	// ReasonKeysUnused is that of a change of keys that do not matter to the workload.
	ReasonKeysUnused Reason = "KeysUnused"
	// What became of a reload.
	ReasonReloaded       Reason = "Reloaded"
	ReasonAlreadyCurrent Reason = "AlreadyCurrent"
	ReasonPodsNewer      Reason = "PodsNewer"
	ReasonReverted       Reason = "Reverted"
	ReasonDryRun         Reason = "DryRun"
	ReasonRefused        Reason = "Refused"
	ReasonInvalid        Reason = "Invalid"
	ReasonWorkloadGone   Reason = "WorkloadGone"
	ReasonRetrying       Reason = "Retrying"
	ReasonBaseline       Reason = "Baseline"
	// ReasonSuspended and ReasonFinished are those of CronJobs and Jobs that nothing is to be started of.
	ReasonSuspended Reason = "Suspended"
	ReasonFinished  Reason = "Finished"
	// ReasonNamespaceEnds is why a deletion rolls nothing.
	ReasonNamespaceEnds Reason = "NamespaceEnds"
	// ReasonNotified: a webhook was called instead.
	ReasonNotified Reason = "Notified"
	// Why a workload that is due is held back.
	ReasonFrozen           Reason = "Frozen"
	ReasonPausedByOperator Reason = "PausedByOperator"
	ReasonOutsideWindow    Reason = "OutsideWindow"
	ReasonTooSoon          Reason = "TooSoon"
	ReasonFlapping         Reason = "Flapping"
	ReasonRateLimited      Reason = "RateLimited"
	// ReasonConcurrencyLimited: as many workloads as may are rolling out.
	ReasonConcurrencyLimited Reason = "ConcurrencyLimited"
	// ReasonWaitingForNamespace: rolls of other workloads of the namespace, which the API server does not answer, have all workers that the
	// namespace may have.
	ReasonWaitingForNamespace Reason = "WaitingForNamespace"
	// ReasonMissingConfig: something is missing without which no pod of the workload starts.
	ReasonMissingConfig Reason = "MissingConfig"
	// ReasonPaused: the mark is written, and the rollout waits for the end of the workload's pause period.
	ReasonPaused Reason = "Paused"
	// ReasonFailing is that of a workload that could not be patched again and again.
	ReasonFailing Reason = "Failing"
	// ReasonWaitingForStep and ReasonHalted hold back workloads for the rollouts of others.
	ReasonWaitingForStep Reason = "WaitingForStep"
	ReasonHalted         Reason = "Halted"
	// How far the rollout is that follows a reload.
	ReasonRolling            Reason = "Rolling"
	ReasonRolledOut          Reason = "RolledOut"
	ReasonStalled            Reason = "Stalled"
	ReasonOvertaken          Reason = "Overtaken"
	ReasonWaitingForOperator Reason = "WaitingForOperator"
)

// Reasons says what each reason means, in one sentence that reads after the workload's name.
var Reasons = map[Reason]string{
	ReasonNamed:               "names the config in its list",
	ReasonAuto:                "asks for every config it references",
	ReasonTypedAuto:           "asks for every referenced config of this kind",
	ReasonSearch:              "searches its references, and the config carries the match annotation",
	ReasonRequested:           "rolls because a user requested it",
	ReasonFollowed:            "follows the config of another cluster",
	ReasonSelected:            "selects the config by its labels",
	ReasonNotOptedIn:          "carries no annotation that asks for this config",
	ReasonConfigIgnored:       "is not asked: the config carries the ignore annotation",
	ReasonExcluded:            "excludes the config",
	ReasonConfigUnmarked:      "searches its references, and the config does not carry the match annotation",
	ReasonNotReferenced:       "asks for referenced configs, and no container or volume references this one",
	ReasonNotShared:           "names a config of another namespace that does not exist, or is not shared with this one",
	ReasonKeysUnused:          "asks for this config, and only keys that do not matter to it have changed",
	ReasonReloaded:            "was given a new mark and rolls",
	ReasonAlreadyCurrent:      "already carried the mark of this content",
	ReasonPodsNewer:           "has only pods that started after the change",
	ReasonReverted:            "already runs with the content that the config was reverted to",
	ReasonDryRun:              "would have been rolled; this is a dry run",
	ReasonRefused:             "could not be patched: the API server refused for good",
	ReasonInvalid:             "could not be given a mark",
	ReasonWorkloadGone:        "is gone or no longer asks for this config",
	ReasonRetrying:            "could not be patched yet, and is tried again",
	ReasonBaseline:            "was first seen with this content",
	ReasonWorkloadIgnored:     "carries the ignore annotation itself",
	ReasonConfigUnselected:    "is not asked: the config's labels are not selected",
	ReasonSuspended:           "is suspended, and starts with the new content once it is resumed",
	ReasonFinished:            "has finished, and nothing of it runs with the old content",
	ReasonNamespaceEnds:       "is in a namespace that is being deleted",
	ReasonNotified:            "was reported to the webhook instead of being rolled",
	ReasonFrozen:              "is held back: all reloads are frozen",
	ReasonPausedByOperator:    "is held back: its reloads are paused by an operator",
	ReasonOutsideWindow:       "is held back: no maintenance window is open",
	ReasonTooSoon:             "is held back: it was rolled less than the minimum interval ago",
	ReasonFlapping:            "is held back: it was rolled so often recently that its config seems to be changed back and forth",
	ReasonRateLimited:         "is held back by the limit on reloads per minute",
	ReasonConcurrencyLimited:  "is held back until fewer workloads are rolling out at the same time",
	ReasonWaitingForNamespace: "is held back by other workloads of its namespace: the API server does not answer the requests that roll them",
	ReasonMissingConfig:       "is held back: a config or key is missing without which its pods do not start",
	ReasonPaused:              "was given a new mark, and rolls when its pause period ends",
	ReasonFailing:             "could not be patched many times in a row, and is tried again every five minutes",
	ReasonWaitingForStep:      "is held back until those that go before it have rolled out",
	ReasonHalted:              "is held back: the change did not roll out on a workload that went before it",

	ReasonRolling:            "is rolling out",
	ReasonRolledOut:          "runs the new template with all its pods",
	ReasonStalled:            "did not roll out in time",
	ReasonOvertaken:          "was given another template before it had rolled out",
	ReasonWaitingForOperator: "waits for an operator to continue the rollout",
}

// HoldReasons are those of a Hold.
var HoldReasons = []Reason{
	ReasonRetrying, ReasonRefused, ReasonInvalid,
	ReasonFrozen, ReasonPausedByOperator, ReasonOutsideWindow, ReasonTooSoon, ReasonFlapping, ReasonRateLimited,
	ReasonConcurrencyLimited, ReasonWaitingForNamespace, ReasonPaused, ReasonMissingConfig,
	ReasonFailing, ReasonWaitingForStep, ReasonHalted,
}

// DeadLetterReasons are those of a Hold that does not end by itself: it needs attention.
var DeadLetterReasons = []Reason{ReasonRefused, ReasonInvalid, ReasonFailing}

// RolloutResults are those of a Rollout that is decided.
var RolloutResults = []Reason{ReasonRolledOut, ReasonStalled, ReasonOvertaken, ReasonWaitingForOperator}

// Outcomes are those of a Reload: it was carried out, there was nothing to do, the workload does not ask for the config any more, or it was refused.
var Outcomes = []Reason{
	ReasonReloaded, ReasonAlreadyCurrent, ReasonPodsNewer, ReasonReverted, ReasonKeysUnused, ReasonNamespaceEnds,
	ReasonSuspended, ReasonFinished, ReasonDryRun, ReasonNotified, ReasonRefused, ReasonInvalid, ReasonFailing,
	ReasonNotOptedIn, ReasonConfigIgnored, ReasonExcluded, ReasonConfigUnmarked, ReasonNotReferenced, ReasonNotShared,
	ReasonWorkloadIgnored, ReasonConfigUnselected,
}

// Cause is one change behind a reload, as the reload saw it.
type Cause struct {
	ChangeID    string      `json:"changeID" doc:"The change's ID; its record may have been dropped since."`
	Config      Config      `json:"config" doc:"The config that changed."`
	Why         Reason      `json:"why" doc:"Why the workload asks for this config."`
	Clause      string      `json:"clause,omitempty" doc:"The annotation that says so."`
	OldSum      string      `json:"oldSum,omitempty" doc:"Keyed fingerprint of the content before, lower-case hex."`
	NewSum      string      `json:"newSum,omitempty" doc:"Keyed fingerprint of the content after, lower-case hex."`
	Keys        []KeyChange `json:"keys,omitempty" doc:"The keys that the change touched. Absent if that is not known."`
	Candidates  []Candidate `json:"candidates,omitempty" doc:"Who may have made the change. With more than one, no single one is asserted."`
	Source      Source      `json:"source" doc:"What reported the change: audit, watch, shipped, sweep or baseline." example:"audit"`
	RequestedAt time.Time   `json:"requestedAt,omitzero" doc:"When the API server ended the request. Absent if none was reported."`
	ReceivedAt  time.Time   `json:"receivedAt,omitzero" doc:"When the report of the request reached Reroll."`
	VerifiedAt  time.Time   `json:"verifiedAt" doc:"When the live object was read."`
	Container   string      `json:"container,omitempty" doc:"The container that carries the mark, for strategies that choose one."`
}

// Reload is one roll of one workload, or the record of why it did not roll although a change asked for it.
type Reload struct {
	ID         string      `json:"id" doc:"Identifies the reload." example:"r-mfrggzdfmztwq2lk"`
	Cluster    string      `json:"cluster" doc:"The cluster that the workload is in."`
	Workload   WorkloadRef `json:"workload" doc:"The workload that was to be rolled."`
	UID        string      `json:"uid" doc:"The UID of the workload."`
	Dialect    string      `json:"dialect,omitempty" doc:"Whose annotations asked for the reload." example:"stakater"`
	Strategy   string      `json:"strategy,omitempty" doc:"How the mark was written." example:"env-vars"`
	Outcome    Reason      `json:"outcome" doc:"What became of the reload."`
	Message    string      `json:"message,omitempty" doc:"Explains an outcome other than Reloaded, for people."`
	Causes     []Cause     `json:"causes,omitempty" doc:"The changes that asked for this reload. Several if they fell into one debounce window; absent in the summaries of a change."`
	Attempts   int         `json:"attempts,omitempty" minimum:"0" doc:"How many times the patch was tried."`
	Generation int64       `json:"generation,omitempty" doc:"The workload's metadata.generation after the patch."`
	DecidedAt  time.Time   `json:"decidedAt" doc:"When the debounce window closed and the work began."`
	HeldBy     Reason      `json:"heldBy,omitempty" doc:"What held the reload back on purpose until decidedAt, such as a freeze. Absent if nothing did."`
	PatchedAt  time.Time   `json:"patchedAt,omitzero" doc:"When the API server had accepted the patch. Absent if nothing was written."`
	Rollout    *Rollout    `json:"rollout,omitempty" doc:"What became of the patch. Absent as long as that is not decided, or if it was not followed."`
	Requested  string      `json:"requested,omitempty" doc:"The value of the annotation reroll.dev/requested, if that asked for the reload and not a change; then there are no causes."`
	Shortened  []Part      `json:"shortened,omitempty" enum:"messages,candidates,keys,causes" doc:"What the record lacks because it would have been too large with it. Absent if it is whole."`
}

// Latency returns how long Reroll took until the patch: from the earliest request behind it, or from the end of the wait if something held it
// back on purpose. ok is false if either end is not known.
func (r Reload) Latency() (took time.Duration, ok bool) {
	from := r.DecidedAt
	if r.HeldBy == "" {
		from = time.Time{}
		for _, c := range r.Causes {
			if from.IsZero() || !c.RequestedAt.IsZero() && c.RequestedAt.Before(from) {
				from = c.RequestedAt
			}
		}
	}
	return r.PatchedAt.Sub(from), !from.IsZero() && !r.PatchedAt.IsZero()
}

// Rollout is what became of a workload after it was given a new template.
type Rollout struct {
	Result    Reason    `json:"result" doc:"Rolling, RolledOut, Stalled, Overtaken or WaitingForOperator. What waits or has stalled may still roll out."`
	Message   string    `json:"message,omitempty" doc:"Explains a result other than RolledOut, for people."`
	StartedAt time.Time `json:"startedAt" doc:"When the template was written, or when the rollout continued after it had waited."`
	EndedAt   time.Time `json:"endedAt,omitzero" doc:"When the result was seen. Absent while it is Rolling."`
	Undone    bool      `json:"undone,omitempty" doc:"Whether the template has lost the mark since, as after a rollback or when a GitOps tool reverts it. Before it had rolled out, pods that were not replaced keep the content of before; after that, all pods were started again."`
}

// ReloadID derives the identity of a reload from the workload and the content it is brought to, not from how it came about: it is
// written on the workload beside the mark, and a process that finds it there knows that the workload is at that content, whoever
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

// RequestID derives the identity of the reload for which the annotation reroll.dev/requested asks, after the workload's last one. It is written on
// the workload like that of any other, so that a process that finds it there knows that the reload was made.
func RequestID(cluster, uid, last, value string) string {
	return "r-" + shortID("request", cluster, uid, last, value)
}

// ValueID stands for the value of an annotation, however long; empty for an empty one.
func ValueID(value string) string {
	if value == "" {
		return ""
	}
	return shortID("value", value)
}
