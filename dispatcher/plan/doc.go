// Package plan decides what a difference between a live config and what was applied of it leads to. The decision is a table of rules, of
// which the first that answers wins; Together joins the answers for all configs of one workload. Functions take values and return values.
//
// Unknown evidence proves nothing: no rule calls a config changed because a time, a mark or a pod is unknown. Times have one second. Where two are
// equal, the answer is the one that rolls rather than the one that loses a change.
//
// The shell builds a Case, calls Decide, reads the evidence that an Ask names, and calls Decide again. Before it writes a note it reads
// the workload again: if that has changed, it begins from there.
package plan
