// Package applied says which write of each config a workload runs with, and compares that with what is live. Functions take values and return values.
//
// A State is on the workload itself, in the annotation Key, written by the patch that rolls the workload; and in the ledger, which also
// has what is not a roll. Newest joins the two.
//
// Guarantees:
//
//   - A text that is damaged, too long, of another workload or of another format gives an error and no State.
//   - Unknown evidence proves nothing: Relate never calls a config changed because its content or a digest key is unknown.
package applied
