// Package nats holds what Reroll promises about an external NATS: that it works with the configurations in docs/nats, and that nothing is lost or
// doubled while servers of a NATS cluster fail.
package nats
