//go:build !nightly && !race

package plan_test

// atNight says that the large searches run, too.
const atNight = false
