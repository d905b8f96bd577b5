//go:build !nightly

package stakater_test

// leastOfGroup is how many data files must share a Reroll for the gate to start it.
const leastOfGroup = 3
