// Package applied says which write of each config a workload runs with. It compares that with what is live, and judges a config that a
// workload meets for the first time. Functions take values and return values.
//
// A State is on the workload itself, in the annotation Key, written by the patch that rolls the workload; and in the ledger, which also
// has what is not a roll. Newest joins the two.
//
// Guarantees:
//
//   - A text that is damaged, too long, of another workload or of another format gives an error and no State.
//   - Unknown evidence proves nothing: Relate and Sight never call a config changed because a time, a mark or a pod is unknown.
//   - Times have one second. Where two are equal, the answer is the one that rolls rather than the one that loses a change.
package applied
