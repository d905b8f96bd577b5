// Package adoption says what becomes of workloads that other tools have looked after: whose annotations and marks they carry, what in them
// is misspelt, which configs will roll them under Reroll, and whether moving in rolls them.
//
// It is pure: it takes what was read of a cluster and returns what that means, and asks the same dialects and strategies that decide later.
// It knows no history: that a config was changed in the moment in which a workload opted in is known to the dispatcher alone.
package adoption
