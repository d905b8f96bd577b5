// Package gitops shows what Argo CD and Flux make of the marks of each strategy, on a real API server with a real Reroll. Neither of the two runs
// here: the tests compare and apply as they do, by their documentation: by a three-way diff with the last applied configuration, or by a
// server-side apply as a dry run, and under their field managers.
package gitops
