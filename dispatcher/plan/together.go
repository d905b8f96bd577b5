package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
)

// Outcome is what must be done with one workload.
type Outcome struct {
	// State is what the ledger holds afterwards and, after a roll, what the annotation of the workload says.
	State applied.State
	// Noted are the configs whose entries a note changes, and Rolled those that ask for a roll; if there are none, nothing rolls. Both are sorted.
	Noted, Rolled []reloader.Config
}

// Together joins the verdicts for the configs of one workload: one roll for all of them, or their notes. uid is the workload's, and newest is what is known
// of it. A config without verdict, as one that cannot be read, keeps its entry.
func Together(uid string, newest applied.State, verdicts map[reloader.Config]Verdict, now time.Time) Outcome {
	o := Outcome{State: newest}
	o.State.Workload = uid
	writes := map[reloader.Config]*applied.Write{}
	for _, c := range slices.SortedFunc(maps.Keys(verdicts), reloader.Config.Compare) {
		switch v := verdicts[c]; v.Do {
		case Roll:
			o.Rolled, writes[c] = append(o.Rolled, c), &v.Write
		case Note:
			o.Noted, writes[c] = append(o.Noted, c), &v.Write
		}
	}
	o.State = o.State.Note(writes, now)
	if len(o.Rolled) > 0 {
		o.State = o.State.Roll(now)
	}
	return o
}
