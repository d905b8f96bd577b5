package plan

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
)

// Outcome is what is to be done with one workload.
type Outcome struct {
	// Do is the strongest of all verdicts.
	Do Do
	// Reason is that of the hold, if Do is Hold.
	Reason reloader.Reason
	// State is what the ledger holds afterwards and, after a roll, what the annotation of the workload says.
	State applied.State
	// Noted and Rolled are the configs whose entries differ from before, by a note and by the roll. Both are sorted.
	Noted, Rolled []reloader.Config
	// Needs is the evidence that is asked for of each config.
	Needs map[reloader.Config]applied.Need
}

// Together joins the verdicts for the configs of one workload: one roll for all of them, or their notes. object is what the annotation
// said when the workload was read, and newest is Newest of that and the ledger. A config without verdict, as one that cannot be read, keeps
// its entry.
func Together(uid string, object, newest applied.State, verdicts map[reloader.Config]Verdict, now time.Time) Outcome {
	return Outcome{}
}
