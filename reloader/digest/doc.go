// Package digest turns the content of configs into keyed fingerprints.
//
// Two digests under one key are equal if and only if the same config holds the same entries: what is signed is injective, and
// only a broken HMAC-SHA-256 could make two contents meet. Without the key a digest tells nothing about the content, not even
// whether two configs hold the same. Content itself cannot leave through a print, a log line or an encoder.
package digest
