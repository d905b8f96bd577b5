package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// result is what a storm has come to.
type result struct {
	options
	// commit is that of the sources.
	commit string
	// struck is how long the changes took, and rolled when the last workload was seen to roll.
	struck, rolled time.Duration
	// hold is what the API said of a workload that waited, heldAfter when it did, and due how long it still had to wait.
	hold           line.Hold
	heldAfter, due time.Duration
	samples        []sample
	faults         []string
	// more tells of each roll of some workloads that rolled more than once.
	more []string
}

// shownFaults bounds how many faults are listed.
const shownFaults = 20

// String returns the result in Markdown.
func (r result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Storm\n\n`make storm`, commit %s: %d Secrets of one namespace change at once, %d workloads use two of them each, %d others none, "+
		"with `--reloads-per-minute %d --coalesce-window %s`.\n\n", r.commit, r.Secrets, r.Workloads, r.Bystanders, r.PerMinute, r.Window)
	fmt.Fprintf(&b, "* The API server had taken all changes after %s.\n", seconds(r.struck))
	fmt.Fprintf(&b, "* Every workload had rolled after %s. The limit alone takes %s: a tenth of a minute's rolls at once, and then %.0f a second.\n",
		seconds(r.rolled), seconds(r.least()), float64(r.PerMinute)/60)
	fmt.Fprintf(&b, "* After %s the API said of the workload that changed last: `%s`, due %s later.\n",
		seconds(r.heldAfter), r.hold.Reason, seconds(r.due))
	fmt.Fprintf(&b, "* %d faults: too few or too many rolls of a workload, rolls faster than the limit, waiting that cannot be seen.\n\n", len(r.faults))
	b.WriteString("| after | rolled | pending | held, `RateLimited` |\n|---:|---:|---:|---:|\n")
	for _, s := range r.samples {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", seconds(s.after), s.rolled, s.pending, s.held)
	}
	for _, text := range r.more {
		fmt.Fprintf(&b, "\n* %s", text)
	}
	for i, fault := range r.faults {
		if i == shownFaults {
			fmt.Fprintf(&b, "\n… and %d more.\n", len(r.faults)-i)
			break
		}
		fmt.Fprintf(&b, "\n* %s", fault)
	}
	return b.String()
}

// least is how long the limit alone takes.
func (r result) least() time.Duration {
	return time.Duration(float64(r.Workloads-r.PerMinute/10) / float64(r.PerMinute) * float64(time.Minute))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
