package control

// stepShare is which part of the workloads behind the first one goes in the second step.
const stepShare = 10

// StepEnd returns how many of n workloads may have been given a change at most, once it is known of some of them that they have rolled out: one,
// then a tenth of the others with it, then all.
func StepEnd(n, ended int) int {
	const first = 1
	second := first + (n-first+stepShare-1)/stepShare
	switch {
	case ended < first:
		return min(n, first)
	case ended < second:
		return min(n, second)
	}
	return n
}
