// Package view has the types that the API answers with, and the functions that make them from the domain's records.
//
// A view is the published contract: fields are added, never renamed or removed. A view shows names, digests' sums, times and
// reasons. It has no place for the content of a config, for the fingerprints of single keys, or for the value of a mark, so
// none of them can reach an answer.
package view
