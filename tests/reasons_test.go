package tests

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

//go:generate go test . -run ^TestReasonsDocument$ -update

var update = flag.Bool("update", false, "rewrite the documents that are generated from the code")

// reasonsDocument is generated.
const reasonsDocument = "../docs/reference/reasons.md"

// The reasons for which a change asks for a reload, and for which it does not.
var (
	askingReasons = []reloader.Reason{
		reloader.ReasonNamed, reloader.ReasonAuto, reloader.ReasonTypedAuto, reloader.ReasonSearch, reloader.ReasonSelected, reloader.ReasonFollowed,
		reloader.ReasonRequested,
	}
	notAskingReasons = []reloader.Reason{
		reloader.ReasonNotOptedIn, reloader.ReasonNotReferenced, reloader.ReasonExcluded, reloader.ReasonWorkloadIgnored, reloader.ReasonConfigIgnored,
		reloader.ReasonConfigUnmarked, reloader.ReasonConfigUnselected, reloader.ReasonNotShared, reloader.ReasonKeysUnused,
	}
	// outcomesToo are holds that the record of a reload can have as its outcome as well.
	outcomesToo = append([]reloader.Reason{reloader.ReasonPaused}, reloader.DeadLetterReasons...)
)

// advice is what to do about a reason, where something can be done.
var advice = map[reloader.Reason]string{
	reloader.ReasonNotOptedIn:       "Add an [annotation](../annotations.md), such as `reroll.dev/auto: \"true\"`.",
	reloader.ReasonNotReferenced:    "Reference the config in the pod template, or name it in `reroll.dev/configmaps` or `reroll.dev/secrets`.",
	reloader.ReasonExcluded:         "Remove it from the exclude list of the workload, if it should count.",
	reloader.ReasonWorkloadIgnored:  "Remove the ignore annotation from the workload, if it should roll.",
	reloader.ReasonConfigIgnored:    "Remove the ignore annotation from the config, if it should count.",
	reloader.ReasonConfigUnmarked:   "Put `reloader.stakater.com/match: \"true\"` on the config.",
	reloader.ReasonConfigUnselected: "Check `--resource-label-selector`.",
	reloader.ReasonNotShared:        "The owner of the config puts `reroll.dev/share-with` on it.",
	reloader.ReasonKeysUnused:       "Check `reroll.dev/keys` on the workload.",

	reloader.ReasonRefused:             "Read the error in `reroll explain`: a missing permission, an admission policy, or an invalid template. Fix it; then `reroll retry`.",
	reloader.ReasonInvalid:             "Read the error in `reroll explain` and change the workload.",
	reloader.ReasonFailing:             "Read the error in `reroll explain`. `reroll retry` tries at once.",
	reloader.ReasonRetrying:            "Nothing. It becomes `Failing` if it lasts.",
	reloader.ReasonFrozen:              "`reroll status` shows who froze and why. `reroll thaw` ends it.",
	reloader.ReasonPausedByOperator:    "`reroll status` shows the pause. `reroll resume` ends it.",
	reloader.ReasonOutsideWindow:       "Wait, or change the maintenance window.",
	reloader.ReasonTooSoon:             "Wait, or lower `reroll.dev/min-interval` or `--min-reload-interval`.",
	reloader.ReasonFlapping:            "Find the writer with `reroll changes` and stop it; see the [runbook](../runbooks/RerollFlapping.md).",
	reloader.ReasonRateLimited:         "Wait, or raise `--reloads-per-minute` or `--namespace-reloads-per-minute`.",
	reloader.ReasonConcurrencyLimited:  "Wait, or raise `--max-concurrent-rollouts` or `--namespace-max-concurrent-rollouts`.",
	reloader.ReasonWaitingForNamespace: "Check why the API server does not answer patches in this namespace, such as a hanging admission webhook.",
	reloader.ReasonMissingConfig:       "Create the missing config or key; the hold names it.",
	reloader.ReasonPaused:              "Wait for the end of the pause period.",
	reloader.ReasonWaitingForStep:      "Wait; the message names the rollouts that go first.",
	reloader.ReasonHalted:              "Fix the config or the stalled workload, or `reroll retry` the config; see the [runbook](../runbooks/RerollHalted.md).",
	reloader.ReasonDryRun:              "Remove `--dry-run` to roll workloads.",

	reloader.ReasonStalled:            "Check the workload's new pods; see the [runbook](../runbooks/RerollRolloutsStalled.md).",
	reloader.ReasonWaitingForOperator: "Continue the rollout: the message says what it waits for.",
}

// TestReasonsDocument compares the page about reasons with the code.
func TestReasonsDocument(t *testing.T) {
	for _, outcome := range reloader.Outcomes {
		if slices.Contains(askingReasons, outcome) || reloader.Reasons[outcome] == "" {
			t.Errorf("%s is no outcome", outcome)
		}
	}
	for _, reason := range append(slices.Clone(reloader.HoldReasons), notAskingReasons...) {
		if advice[reason] == "" {
			t.Errorf("%s: say what to do about it", reason)
		}
	}
	want := reasonsPage()
	if *update {
		if err := os.WriteFile(reasonsDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reasonsDocument)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date; run go generate ./tests (-code +document):\n%s", reasonsDocument, diff)
	}
}

// reasonsPage returns the page about reasons. Each of them has a row.
func reasonsPage() string {
	rollouts := append([]reloader.Reason{reloader.ReasonRolling}, reloader.RolloutResults...)
	var outcomes []reloader.Reason
	for _, reason := range slices.Sorted(maps.Keys(reloader.Reasons)) {
		elsewhere := slices.Concat(askingReasons, notAskingReasons, reloader.HoldReasons, rollouts)
		if !slices.Contains(elsewhere, reason) || slices.Contains(outcomesToo, reason) {
			outcomes = append(outcomes, reason)
		}
	}
	var b strings.Builder
	b.WriteString("# Reasons\n\n<!-- Generated: go generate ./tests -->\n\n" +
		"Every decision of Reroll has a reason from this closed list. `reroll explain`, the REST API, metrics and the log use the same names.\n")
	for _, s := range []struct {
		title, text string
		reasons     []reloader.Reason
	}{
		{"Why a change asks for a reload", "", askingReasons},
		{"Why it does not", "", notAskingReasons},
		{"Outcomes", "The result of a decision, in the record of the reload.", outcomes},
		{"Holds", "Why a workload that is due has not rolled yet. A dead letter does not end by itself and needs attention.", reloader.HoldReasons},
		{"Rollouts", "The result of the rollout after a reload.", rollouts},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if s.text != "" {
			b.WriteString(s.text + "\n\n")
		}
		b.WriteString("| reason | the workload | what to do |\n|---|---|---|\n")
		for _, reason := range s.reasons {
			meaning := reloader.Reasons[reason]
			if s.title == "Holds" && slices.Contains(reloader.DeadLetterReasons, reason) {
				meaning += " (dead letter)"
			}
			row := fmt.Sprintf("| `%s` | %s | %s", reason, meaning, advice[reason])
			b.WriteString(strings.TrimRight(row, " ") + " |\n")
		}
	}
	return b.String()
}
