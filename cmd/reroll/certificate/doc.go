// Package certificate has server certificates of our own: from files that somebody else renews, or managed here.
//
// A managed certificate is signed by a certificate authority of its own. Both are in one place that all replicas share (Store), so that
// they agree, and are renewed when a third of their time is left. What clients trust is published before anything that needs it is
// used: a new authority is trusted for a while next to the old one before it signs.
package certificate
