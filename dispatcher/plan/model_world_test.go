//go:build !race

package plan_test

// The model is a small world: one workload with two pods, one or two configs, the ledger, and one or two processes of Reroll. It is searched
// breadth-first. What a process decides comes from the packages applied and plan themselves. It has one goroutine, so the race detector would
// only slow it down.

const (
	configs   = 2
	maxWrites = 5
)

// The contents of a config.
const (
	gone = iota
	contentA
	contentB
	contentC
)

// write is one write of a config: the content, when it was made, when data was last given a value, and when the object was made. takes
// says that it took a key away, of which the API server keeps no time, and silent that the content is newer than data.
type write struct {
	content, at, data, created uint8
	takes, silent              bool
}

// config is a config with all of its writes; the last is live. A write is named by its position, from 1.
type config struct {
	writes     [maxWrites]write
	n          uint8
	unreadable bool
}

func (c config) live() write { return c.writes[c.n-1] }

// entry is what a state says of one config: a write, or 0 for none, and the key of its digest.
type entry struct {
	write, key uint8
	out        bool
}

// state is an applied.State. Its mark is the revision of the template that the roll made.
type state struct {
	known              bool
	n, at, mark, noted uint8
	of                 [configs]entry
}

// template is a pod template: its revision, and that of the roll whose mark it has. Revision 0 is the one that was created.
type template struct{ rev, mark uint8 }

// pod is a pod with what it has read, as positions of writes. accepted is what was live when its workload opted in, which Reroll takes for
// what it has read.
type pod struct {
	rev, at        uint8
	read, accepted [configs]uint8
	// lost has the content that it has read of writes that etcd lost, and 0 if it has none.
	lost [configs]uint8
}

// process is one process of Reroll.
type process struct {
	alive bool
	// mem is what it knows of the ledger, and of the object; dirty says that the ledger lacks it, and stale that another wrote the ledger.
	// born is when the ledger was born, as far as it knows.
	mem          state
	dirty, stale bool
	born         uint8
	// looks has when the last look at each write began, and first when the first look ended that found the live one.
	looks [configs][maxWrites]uint8
	first [configs]uint8
	// do is what was decided, with this state after it. An attempt whose workload is written meanwhile gets 409, so it ends at once.
	do   uint8
	then state
	// early says that the workload was read some time before the configs, and that its template was ours then. The product reads it again.
	early, earlyOurs bool
	shadow
}

// shadow is what the invariants need to know of a process: ghosts. rolls has the configs that ask for the roll. unsure says that a pod started
// since the process last found the content of the last roll, before it found other content, which away says. ignorant says that it decided
// without knowing the last roll, and told is what it must know.
type shadow struct {
	rolls        uint8
	unsure, away [configs]bool
	ignorant     bool
	told         told
}

// What was decided.
const (
	doNothing = iota
	doNote
	doRoll
)

// etcd is what the API server stores. told is what the ledger was told: a ghost.
type etcd struct {
	config             [configs]config
	opted              bool
	written            uint8
	object, prevObject state
	tmpl, prev         template
	ledger             state
	born               uint8
	told               told
}

// world is the whole state. All fields are bytes, so that it is hashed as memory. saved is a backup of etcd.
type world struct {
	etcd
	saved         etcd
	frozen, hints bool
	pods          [2]pod
	key           uint8
	procs         [2]process
	clock         uint8
	edits, faults uint8
	ghost         ghost
}

// told is what a process or the ledger was told: the last roll, the newest note, and that the workload has opted out. It is kept apart from
// what the product makes of it, so that a mistake is not excused by what it forgets.
type told struct {
	rolled, noted, out bool
}

// ghost is what the invariants and exceptions need to know of the past.
type ghost struct {
	// applied has the content of the last roll or note, or that with which the workload began. rolled and wrote have the content and the write of
	// each config that the last roll applied, n is its number, and mark is the revision of its template.
	applied, rolled, wrote [configs]uint8
	n, mark                uint8
	// between says that since the last roll a pod started with other content, or a template was brought back.
	between bool
	// quiet says that no content was written since the last fixpoint, and fresh that some was since the workload opted in.
	quiet, fresh bool
	// undone says that an earlier template was brought back since the last roll, and backAt has the writes that were live then.
	undone bool
	backAt [configs]uint8
	// noted says that there is a note since the last roll, and back that the workload opted in again.
	noted, back bool
	excuse
}

// excuse has what gives rise to exceptions, until everything is well known again.
type excuse struct {
	amnesia, forgot, keyLost, unlisted, absentFirst, optedOut, atOnce, reborn bool
}

// content returns the content of a write of a config, as it is now.
func (w *world) content(c int, n uint8) uint8 { return w.config[c].writes[n-1].content }

// has returns the content that a pod has read of a config.
func (w *world) has(p pod, c int) uint8 {
	if p.lost[c] != 0 {
		return p.lost[c] - 1
	}
	return w.content(c, p.read[c])
}
