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
	// Do is the strongest of all verdicts.
	Do Do
	// State is what the ledger holds afterwards and, after a roll, what the annotation of the workload says.
	State applied.State
	// Noted are the configs whose entries a note changes, and Rolled those that ask for the roll. Both are sorted.
	Noted, Rolled []reloader.Config
}

// Together joins the verdicts for the configs of one workload: one roll for all of them, or their notes. uid is the workload's, and newest is what is known
// of it. A config without verdict, as one that cannot be read, keeps its entry.
func Together(uid string, newest applied.State, verdicts map[reloader.Config]Verdict, now time.Time) Outcome {
	o := Outcome{Do: Nothing, State: newest}
	o.State.Workload = uid
	writes := map[reloader.Config]*applied.Write{}
	for _, c := range slices.SortedFunc(maps.Keys(verdicts), reloader.Config.Compare) {
		switch v := verdicts[c]; v.Do {
		case Roll:
			o.Do, o.Rolled, writes[c] = Roll, append(o.Rolled, c), &v.Write
		case Note:
			o.Noted, writes[c] = append(o.Noted, c), &v.Write
		}
	}
	o.State = o.State.Note(writes, now)
	switch {
	case o.Do == Roll:
		o.State = o.State.Roll(now)
	case len(o.Noted) > 0:
		o.Do = Note
	}
	return o
}
