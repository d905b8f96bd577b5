// Package fleet runs a fleet: three clusters, each a real API server with its reroll process, and a hub, a NATS cluster of three
// processes with the API that answers for all. It cuts a cluster off, kills the leader of the hub's streams while
// configs change, asks the API who is silent, and counts.
//
// What a cluster has on record says what the hub must have, each record once. What rolled is read from the API servers.
package fleet
