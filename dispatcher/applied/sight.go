package applied

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Need is evidence that a decision asks for. It costs requests, so it is read only when asked for.
type Need string

// The needs.
const (
	NeedContent  Need = "content"
	NeedPods     Need = "pods"
	NeedMarks    Need = "marks"
	NeedTemplate Need = "template"
)

// MarkSays is what the mark of a tool for a config says, or the tool's own memory.
type MarkSays string

// The answers. The zero MarkSays is that nobody has asked yet.
const (
	MarkNone MarkSays = "none"
	// MarkEqual is the mark of the live content, and MarkDiffers is one that proves other content.
	MarkEqual   MarkSays = "equal"
	MarkDiffers MarkSays = "differs"
	// MarkUnreadable is made with a key that nobody has.
	MarkUnreadable MarkSays = "unreadable"
)

// First is what is known about a workload and a config that it meets for the first time.
type First struct {
	// Written is when the workload was last written, without its subresources; zero if unknown.
	Written time.Time
	// Born is when the ledger was born: content of before is what the workload runs with. For `migrate` it is now.
	Born time.Time
	// Listed is that of State if only a pattern wants the config; zero otherwise.
	Listed time.Time
	// Deleted is when a hint says that the config was deleted; zero if none does.
	Deleted time.Time
	// Taken says that something was taken away from the config after Written: a hint tells of a write, the config's version is higher than
	// the workload's, and no field was given a value since.
	Taken bool
	// Required says that no container of the workload starts without the config.
	Required bool
	Mark     MarkSays
}

// Finding is the answer of Sight: evidence that it needs, or a change that the workload has missed, or the reason for which the live write
// is taken for what the workload runs with.
type Finding struct {
	Rule   string
	Need   Need
	Missed bool
	Reason reloader.Reason
}

// Sighting is a config that a workload meets for the first time.
type Sighting struct {
	Config   reloader.Config
	Live     Live
	Counting Counting
	First    First
	Pods     *Pods
}

// Sight judges a config that a workload meets for the first time. The dispatcher and `migrate` both call it.
func Sight(s Sighting) Finding { return Finding{} }
