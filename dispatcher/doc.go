// Package dispatcher turns hints into looks at configs, and looks into rolled workloads.
//
// It is the shell of the core: it reads, asks the pure packages, and writes. The content that a workload runs with is its State (package applied), which is
// on the workload itself and in the ledger. Package plan decides what a difference between State and live config leads to, and package turn
// decides when. Nothing that waits holds a message: what is behind is computed from State and live configs, by any process.
//
// The path of a hint, file by file:
//
//	intake.go   a hint is taken from the stream, its config is looked at, the hint is acknowledged
//	look.go     a look at a config: metadata, content where it is needed (read.go), a change for the history (change.go)
//	            which is compared with the State of each workload that depends on the config
//	attend.go   one workload in its turn: what is new is decided, what is behind waits for its window and brakes (due.go)
//	decide.go   a Case for each config, with the evidence that a decision asks for (marks.go)
//	roll.go     one patch: marks and State; a conflict reads again
//	hot.go      instead of it, running pods are asked to reload (hotpod.go)
//	conclude.go what became of it: State, ledger (states.go), record and history (record.go, keep.go), rollout (rollout.go)
//
// Its knowledge is in parts behind one lock (board.go, entry.go, tracked.go). Its types run under the lock and never wait; roller, decider, looker, tracker,
// keeper and sweeper wait, and take the lock for what they read and note.
//
// A start is a sweep (sweep.go): one list of workloads, one list of metadata for each kind and namespace of configs. Contents are read only
// where versions differ.
package dispatcher
