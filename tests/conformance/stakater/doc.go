// Package stakater shows, sentence by sentence, what becomes of the behaviour of Stakater Reloader v1 under Reroll: kept, or fixed on
// purpose.
//
// Each file in scenarios is one case: what theirs does, what ours does and why, and a scenario that shows ours on a real API server.
// The cases of operations.yaml are shown by Go tests, which they name. docs/compatibility.md sums up what is fixed.
package stakater
