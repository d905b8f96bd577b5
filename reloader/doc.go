// Package reloader is the domain of Reroll: the words of the design as Go types, and their wire format.
//
// Everything here is a value. Nothing here reads a clock, a socket or a cluster, and nothing here can hold the content of a
// ConfigMap or Secret: configs are named, and compared by keyed digests. The adapters to NATS (package queue) and to Kubernetes
// (package kube) depend on this package, never the other way round.
package reloader
