package reloader

import "strings"

// Reason is why a workload was or was not reloaded. The list is closed; Reasons describes each.
type Reason string

// The reasons. Reasons says what each means.
const (
	// Why a change asks for a reload, and why it does not.
	ReasonNamed         Reason = "Named"
	ReasonAuto          Reason = "Auto"
	ReasonSearch        Reason = "Search"
	ReasonNotOptedIn    Reason = "NotOptedIn"
	ReasonNotReferenced Reason = "NotReferenced"
	ReasonUnselected    Reason = "Unselected"
	ReasonIgnored       Reason = "Ignored"
	ReasonNotShared     Reason = "NotShared"
	ReasonKeysUnused    Reason = "KeysUnused"
	// What became of a workload.
	ReasonReloaded       Reason = "Reloaded"
	ReasonAlreadyCurrent Reason = "AlreadyCurrent"
	ReasonPodsNewer      Reason = "PodsNewer"
	ReasonDryRun         Reason = "DryRun"
	ReasonBaseline       Reason = "Baseline"
	ReasonAppeared       Reason = "Appeared"
	ReasonDormant        Reason = "Dormant"
	ReasonNotified       Reason = "Notified"
	ReasonVerified       Reason = "Verified"
	ReasonCalled         Reason = "Called"
	ReasonRefreshed      Reason = "Refreshed"
	// Why a workload that is due is held back; some are outcomes too.
	ReasonFrozen           Reason = "Frozen"
	ReasonPausedByOperator Reason = "PausedByOperator"
	ReasonOutsideWindow    Reason = "OutsideWindow"
	ReasonTooSoon          Reason = "TooSoon"
	ReasonFlapping         Reason = "Flapping"
	ReasonLimited          Reason = "Limited"
	ReasonMissingConfig    Reason = "MissingConfig"
	ReasonPaused           Reason = "Paused"
	ReasonWaitingForStep   Reason = "WaitingForStep"
	ReasonHalted           Reason = "Halted"
	ReasonReloading        Reason = "Reloading"
	ReasonReloadFailed     Reason = "ReloadFailed"
	ReasonRefused          Reason = "Refused"
	ReasonRetrying         Reason = "Retrying"
	ReasonFailing          Reason = "Failing"
	// How far the rollout is that follows a reload.
	ReasonRolling            Reason = "Rolling"
	ReasonRolledOut          Reason = "RolledOut"
	ReasonStalled            Reason = "Stalled"
	ReasonOvertaken          Reason = "Overtaken"
	ReasonWaitingForOperator Reason = "WaitingForOperator"
)

// ReasonInfo describes a Reason.
type ReasonInfo struct {
	Reason Reason
	in     place
	// Says is one sentence that reads after the workload's name.
	Says string
	// Do says what a person does about it, in Markdown; empty if nothing must be done.
	Do string
	// Next is the command, with {workload}, {namespace} and {pause} for what it is about; empty if none helps.
	Next string
}

// place is where a reason can stand: one or several.
type place uint16

const (
	// asks and declines are those of a dependency.
	asks place = 1 << iota
	declines
	// ends are results of decisions; recorded ones are those of a Reload. After one of the newest, the workload runs with the newest content;
	// after a hot one, its running pods took it without a restart.
	ends
	recorded
	newest
	hot
	// holds are those of a Hold; a deadLetter does not end by itself, and one that lags is no reason to wait.
	holds
	deadLetter
	lags
	// rollsOut are those of a Rollout; decided ones are final.
	rollsOut
	decided
)

// Reasons describes every reason. docs/reasons-and-events.md and the schema of the API are made of it.
var Reasons = []ReasonInfo{
	{ReasonNamed, asks, "names the config, or selects it by its labels", "", ""},
	{ReasonAuto, asks, "asks for all ConfigMaps, all Secrets or all configs that it references", "", ""},
	{ReasonSearch, asks, "references this config, which has the match annotation that the workload searches for", "", ""},
	{ReasonNotOptedIn, declines | recorded, "has no annotation that asks for this config", "Add an [annotation](annotations.md), such as `reroll.dev/auto: \"true\"`.", ""},
	{ReasonNotReferenced, declines | recorded, "asks for the configs that it references, but does not reference this one", "Reference it in the pod template, or name it in `reroll.dev/configmaps` or `reroll.dev/secrets`.", ""},
	{ReasonUnselected, declines | recorded, "does not select the config, because the config lacks the label or annotation that the workload asks for", "Put `reloader.stakater.com/match: \"true\"` or the label on the config, or check `scope.resourceLabelSelector`.", ""},
	{ReasonIgnored, declines | recorded, "ignores the config, because an annotation on the workload or on the config says so", "To roll the workload, remove that annotation. If the annotation is a list, remove only the name of this config.", ""},
	{ReasonNotShared, declines | recorded, "names a config in another namespace; either the config does not exist, or its owner does not share it", "The owner of the config must put `reroll.dev/share-with` on the config.", ""},
	{ReasonKeysUnused, declines | recorded, "asks for this config, but the change touched only keys that do not count for the workload", "Check `reroll.dev/keys` on the workload.", ""},
	{ReasonAlreadyCurrent, ends | recorded | newest, "already runs with this content", "", ""},
	{ReasonBaseline, ends, "was first seen with this content", "", ""},
	{ReasonAppeared, ends, "does not roll when a config is created", "Run `reroll reload` if its pods need the config, or set `reload.onCreate`.", "reroll reload {workload}"},
	{ReasonDryRun, ends | recorded, "would have been rolled; this is a dry run", "Set `dryRun: false`.", ""},
	{ReasonFailing, ends | holds | recorded | deadLetter | lags, "is retried every five minutes, because many patches in a row failed", "Fix the error that `reroll explain` shows, then `reroll retry`.", "reroll retry {workload}"},
	{ReasonDormant, ends | recorded, "is suspended or has finished; pods that it starts later read the new content", "", ""},
	{ReasonNotified, ends | recorded, "was reported to the webhook instead of being rolled", "Check the receiver of the webhook.", ""},
	{ReasonVerified, ends | recorded | newest | hot, "reloaded in its running pods without a restart, and each pod proved that", "", ""},
	{ReasonCalled, ends | recorded | newest | hot, "reloaded in its running pods, which answered each call without an error", "", ""},
	{ReasonRefreshed, ends | recorded | newest | hot, "has the new files in its running pods, and its program watches these files", "", ""},
	{ReasonReloadFailed, ends | holds | recorded | deadLetter, "could not reload in its running pods, and an annotation forbids a restart", "Fix the error that `reroll explain` shows, or remove `reroll.dev/http-fallback`. Then `reroll retry`.", "reroll retry {workload}"},
	{ReasonPaused, ends | holds, "got a new mark, and its annotation pause-period delays the replacement of its pods", "Wait.", ""},
	{ReasonPodsNewer, ends | recorded | newest, "has only pods that started after the change", "", ""},
	{ReasonRefused, ends | holds | recorded | deadLetter, "could not be patched, because the API server refuses permanently or no container of the pod template can have the mark", "Fix the error that `reroll explain` shows, then `reroll retry`.", "reroll retry {workload}"},
	{ReasonReloaded, ends | recorded, "got a new mark and rolls", "", ""},
	{ReasonReloading, holds, "is reloading in its running pods", "Wait.", ""},
	{ReasonRetrying, holds | lags, "could not be patched yet, and is retried", "Wait. If this lasts, the reason becomes `Failing`.", ""},
	{ReasonFrozen, holds, "is held back because a freeze holds all workloads", "`reroll status` says why. `reroll resume -A` ends it.", ""},
	{ReasonPausedByOperator, holds, "is held back by a pause in reroll-control", "`reroll resume` ends it.", "reroll resume {pause}"},
	{ReasonOutsideWindow, holds, "is held back because no maintenance window is open", "Wait, or change the window.", "reroll reload {workload}"},
	{ReasonTooSoon, holds, "is held back because its last roll is more recent than the minimum interval", "Wait, or lower `reroll.dev/min-interval` or `rolloutLimits.minReloadInterval`.", ""},
	{ReasonFlapping, holds, "is held back because its config keeps changing", "Stop the writer that `reroll get changes` shows; see [the alert](alerts-and-metrics.md#rerollflapping).", "reroll get reloads -n {namespace}"},
	{ReasonLimited, holds | lags, "is held back until other rolls are done", "", ""},
	{ReasonMissingConfig, holds, "has annotations of Wave, and waits for a config or key that its pods require", "Create what the hold names, or remove the reference.", ""},
	{ReasonWaitingForStep, holds, "is held back until the workloads before it have rolled out", "Wait for the rollouts that the message names.", "reroll status"},
	{ReasonHalted, holds, "is held back because the same change failed to roll out on an earlier workload", "Correct the config. Or fix the stalled workload, or run `reroll retry` for it; see [rollouts](rollouts.md#stop-after-a-failed-rollout).", "reroll status"},
	{ReasonRolling, rollsOut, "is rolling out", "", ""},
	{ReasonRolledOut, rollsOut | decided, "runs the new template with all its pods", "", ""},
	{ReasonStalled, rollsOut | decided, "did not roll out in time", "Check its new pods; see [the alert](alerts-and-metrics.md#rerollrolloutsstalled).", ""},
	{ReasonOvertaken, rollsOut | decided, "got another template before it had rolled out", "", ""},
	{ReasonWaitingForOperator, rollsOut | decided, "has a rollout that waits for a user", "Act as the message says.", ""},
}

var (
	// HoldReasons are those of a Hold, and DeadLetterReasons those of one that does not end by itself: it needs attention. One of LagReasons lasts no
	// longer than Reroll and the API server take.
	HoldReasons, DeadLetterReasons, LagReasons = reasonsIn(holds), reasonsIn(deadLetter), reasonsIn(lags)
	// NewestReasons are those of a workload that was not rolled and runs with the newest content.
	NewestReasons = reasonsIn(newest)
	// HotReasons are those of a workload whose running pods took the newest content without a restart.
	HotReasons = reasonsIn(hot)
	// RolloutResults are those of a Rollout that is decided.
	RolloutResults = reasonsIn(decided)
	// Declines are why a dependency does not ask for a reload.
	Declines = reasonsIn(declines)
	// Outcomes are those of a Reload: it was carried out, there was nothing to do, the workload does not ask for the config any more, or it was
	// refused.
	Outcomes = reasonsIn(recorded)
)

func reasonsIn(p place) (found []Reason) {
	for _, i := range Reasons {
		if i.in&p != 0 {
			found = append(found, i.Reason)
		}
	}
	return found
}

// Info returns what describes r; a zero ReasonInfo if r is not one of Reasons.
func (r Reason) Info() ReasonInfo {
	for i := range Reasons {
		if Reasons[i].Reason == r {
			return Reasons[i]
		}
	}
	return ReasonInfo{}
}

// Says is that of Info.
func (r Reason) Says() string { return r.Info().Says }

// Advice is Do of Info as plain text, without the links of the page.
func (r Reason) Advice() string {
	text, _, _ := strings.Cut(r.Info().Do, "; see [")
	if text = strings.ReplaceAll(text, "`", ""); text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
