// Package api answers over HTTP who changed what, what rolled, and what did not and why.
//
// It promises:
//   - It only reads. Every route answers GET and HEAD, and anything else is a 405.
//   - Every answer is JSON as /openapi.json describes it, and every error is application/problem+json (RFC 9457), also for
//     unknown routes and for faults of our own, whose details stay in the log.
//   - Parameters that a route does not know are refused, so that a misspelt filter is never taken for no filter.
//   - Listings come in pages. Following the cursors visits every record that was there at the start, and still is, exactly
//     once, also while new ones arrive. A cursor is good for the filters it was made with; once what it points at is no longer
//     kept, the answer is 410.
//   - No answer holds the content of a config, the fingerprint of a single key, or a mark's value; see package view.
//
// A route is one file: its parameters, its filter and its handler. What it reads comes from package projection.
package api
