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

// strength orders what can be done.
var strength = []Do{Nothing, Note, Roll, Ask}

// Together joins the verdicts for the configs of one workload: one roll for all of them, or their notes. uid is the workload's, and newest is what is known
// of it. A config without verdict, as one that cannot be read, keeps its entry.
func Together(uid string, newest applied.State, verdicts map[reloader.Config]Verdict, now time.Time) Outcome {
	o := Outcome{Do: Nothing, State: newest}
	o.State.Workload = uid
	noted, rolled := map[reloader.Config]*applied.Write{}, map[reloader.Config]*applied.Write{}
	for _, c := range slices.SortedFunc(maps.Keys(verdicts), reloader.Config.Compare) {
		v := verdicts[c]
		if slices.Index(strength, v.Do) > slices.Index(strength, o.Do) {
			o.Do = v.Do
		}
		switch v.Do {
		case Roll:
			o.Rolled = append(o.Rolled, c)
			rolled[c] = &v.Write
		case Note:
			o.Noted = append(o.Noted, c)
			noted[c] = &v.Write
		}
	}
	if o.State = o.State.Note(noted, now); o.Do != Roll {
		return o
	}
	o.State = o.State.Note(rolled, o.State.Noted).Roll(now)
	return o
}
