// Package canary tests that an audit feed which works, fails and comes back is seen to do so, and made up for meanwhile, and that one which is not there is not missed next to a watch, by a real
// reroll process next to a real API server.
package canary
