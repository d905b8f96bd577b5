package plan

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Case is one config of one workload, as it was read: the workload first, then the config, then evidence.
type Case struct {
	Config   reloader.Config
	Live     applied.Live
	Counting Counting
	// Wanted says that the workload is opted in and the config counts for it; Why is the reason if not.
	Wanted bool
	Why    reloader.Reason
	// Entry is the newest write that is known to be applied, if Known; AsOf is that of its State.
	Known bool
	Entry applied.Write
	AsOf  time.Time
	First First
	// Dormant reports whether nothing of the workload must be started, as of a suspended CronJob.
	Dormant bool
	// Ours says that the pod template carries the Mark of the newest State, or that the workload was never rolled.
	Ours bool
	// Pods and Looks are evidence; nil until they are asked for. Looks are those of this process, the oldest first.
	Pods  *workload.Pods
	Looks []applied.Live
}

// Counting is what counts as a change of a config for a workload. A change of content always does.
type Counting struct {
	Creation, Deletion bool
}

// First is what is known about a workload and a config that it meets for the first time.
type First struct {
	// Written is when the workload was last written, without its subresources; zero if unknown.
	Written time.Time
	// Born is when the ledger was born: content of before is what the workload runs with. For `migrate` it is now.
	Born time.Time
	// Listed is that of State if only a pattern wants the config; zero otherwise.
	Listed time.Time
	// Taken says that something was removed from the config after Written: a hint reports a write, the config's version is higher than
	// the workload's, and no field was given a value since.
	Taken bool
	// Required says that no container of the workload starts without the config.
	Required bool
	Mark     MarkSays
}

// MarkSays is what the mark of a tool for a config says, or the tool's own memory.
type MarkSays string

// The answers. The zero MarkSays is a question not asked yet.
const (
	MarkNone MarkSays = "none"
	// MarkEqual is the mark of the live content, and MarkDiffers is one that proves other content.
	MarkEqual   MarkSays = "equal"
	MarkDiffers MarkSays = "differs"
)

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

// Need is evidence that a decision asks for. It costs requests, so it is read only when asked for.
type Need string

// The needs.
const (
	NeedContent Need = "content"
	NeedPods    Need = "pods"
	NeedMarks   Need = "marks"
	NeedLooks   Need = "looks"
)

// Verdict is the answer for one Case.
type Verdict struct {
	// Rule is the name of the rule that gave it.
	Rule   string
	Do     Do
	Reason reloader.Reason
	Need   Need
	// Write is what a note or a roll applies.
	Write applied.Write
}
