// Package canary tests that an audit feed which works, fails and comes back is seen to do so, and made up for meanwhile, by a real
// reroll process beside a real API server.
package canary
