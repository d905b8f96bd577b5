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
	ChangeID string `json:"changeID"`
	Config   Config `json:"config"`
	// Why is the reason for which the workload asks for this config, and Clause is the annotation that says so.
	Why         Reason      `json:"why"`
	Clause      string      `json:"clause,omitempty"`
	OldSum      string      `json:"oldSum,omitempty"`
	NewSum      string      `json:"newSum,omitempty"`
	Keys        []KeyChange `json:"keys,omitempty"`
	Candidates  []Candidate `json:"candidates,omitempty"`
	Source      Source      `json:"source"`
	RequestedAt time.Time   `json:"requestedAt,omitzero"`
	ReceivedAt  time.Time   `json:"receivedAt,omitzero"`
	VerifiedAt  time.Time   `json:"verifiedAt"`
	// Container is the container that carries the mark, for strategies that choose one.
	Container string `json:"container,omitempty"`
}

// Reload is one roll of one workload, or the record of why it did not roll although a change asked for it.
type Reload struct {
	ID       string      `json:"id"`
	Cluster  string      `json:"cluster"`
	Workload WorkloadRef `json:"workload"`
	UID      string      `json:"uid"`
	Dialect  string      `json:"dialect,omitempty"`
	Strategy string      `json:"strategy,omitempty"`
	Outcome  Reason      `json:"outcome"`
	// Message explains an outcome other than Reloaded. It never contains config content.
	Message  string  `json:"message,omitempty"`
	Causes   []Cause `json:"causes"`
	Attempts int     `json:"attempts,omitempty"`
	// Generation is the workload's metadata.generation after the patch.
	Generation int64 `json:"generation,omitempty"`
	// DecidedAt is when the quiet window closed and the flush began; PatchedAt is when the API server had accepted the patch.
	DecidedAt time.Time `json:"decidedAt"`
	// HeldBy is what held the reload back on purpose until DecidedAt, such as a freeze; empty if nothing did.
	HeldBy    Reason    `json:"heldBy,omitempty"`
	PatchedAt time.Time `json:"patchedAt,omitzero"`
	// Rollout is what became of the patch; nil as long as that is not decided, or if nobody followed it.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Requested is the value of the annotation reroll.dev/requested, if that asked for it and no change did; then there are no Causes.
	Requested string `json:"requested,omitempty"`
	// Shortened has what is left out because the record would be too large; empty if nothing is.
	Shortened []Part `json:"shortened,omitempty"`
}

// Rollout is what became of a workload after it was given a new template.
type Rollout struct {
	// Result is Rolling, RolledOut, Stalled, Overtaken or WaitingForOperator. What waits or has stalled may still roll out.
	Result Reason `json:"result"`
	// Message explains a result other than RolledOut.
	Message string `json:"message,omitempty"`
	// StartedAt is when the template was written, or when it went on after it had waited for somebody, and EndedAt when the result was seen;
	// zero while it is Rolling.
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
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
