package plan

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
)

// Case is one config of one workload, as it was read: the workload first, then the config, then evidence.
type Case struct {
	applied.Sighting
	// Wanted says that the workload is opted in and the config counts for it; Why is the reason if not.
	Wanted bool
	Why    reloader.Reason
	// Entry is the newest write that is known to be applied, if Known; AsOf is that of its State.
	Known bool
	Entry applied.Write
	AsOf  time.Time
	// Dormant reports whether nothing of the workload must be started, as of a suspended CronJob.
	Dormant bool
	// Ending says that the config's namespace is being deleted.
	Ending bool
	// Template and Looks are evidence, as are the Pods of a Sighting; nil until they are asked for.
	Template *Template
	Looks    []applied.Look
}

// Template is what is known about the pod template of a workload.
type Template struct {
	// Ours says that the template carries the Mark of the newest State, or that the workload was never rolled.
	Ours bool
	// Changed is when the template was last changed, or a later time; zero if unknown.
	Changed time.Time
}

// Do is what a verdict says must be done.
type Do string

// The possible actions.
const (
	Nothing Do = "nothing"
	// Note writes the verdict's Write into the ledger.
	Note Do = "note"
	Roll Do = "roll"
	// Ask asks for evidence.
	Ask Do = "ask"
)

// Verdict is the answer for one Case.
type Verdict struct {
	// Rule is the name of the rule that gave it.
	Rule   string
	Do     Do
	Reason reloader.Reason
	Need   applied.Need
	// Write is what a note or a roll applies.
	Write applied.Write
}
