// Package nats holds what Reroll promises about an external NATS: that it works with the permissions in docs/nats and no others, and
// with servers of older versions.
package nats
