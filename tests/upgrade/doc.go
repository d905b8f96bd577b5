// Package upgrade brings a Reroll of an older commit to the one of the sources and back: real binaries, over the same data, on a real API
// server. make upgrade runs it.
//
// Whatever the version, nothing rolls because of the exchange; what was pending and what changed while nobody ran is rolled once by whoever
// comes; and the history of one can be read by the other.
package upgrade
