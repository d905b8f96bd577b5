//go:build nightly

package stakater_test

// leastOfGroup is how many data files must share a Reroll to be run: every group is.
const leastOfGroup = 1
