// Package certificate has server certificates of our own, from files that others renew or managed here, and signs client certificates for API servers.
//
// A managed certificate is signed by a CA of its own that lasts ten years. Both are in one place that all replicas share (Store), so that they agree.
// The certificate is renewed when a third of its time is left. The CA stays: to replace it, delete what is stored, and restart the process that keeps it.
package certificate
