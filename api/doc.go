// Package api answers over HTTP who changed what, what rolled, and what did not and why.
//
// It promises:
//   - It reads, and changes nothing. Routes answer GET and HEAD, but for one that takes its question as the body of a POST; anything else is a
//     405 that names what there is.
//   - With an Access, data goes only to authenticated users who may see it; without an answer from the API server, nothing does.
//   - Every answer is as /openapi.json describes it: JSON, but for streams of events. Every error is application/problem+json (RFC 9457), also for
//     unknown routes and for faults of our own, whose details stay in the log.
//   - Parameters that a route does not know are refused, so that a misspelt filter is never taken for no filter.
//   - Listings come in pages. Following the cursors visits every record that was there at the start, and still is, exactly
//     once, also while new ones arrive. A cursor is good for the filters it was made with; once what it points at is no longer
//     kept, the answer is 410.
//   - A stream of events tells which listings have changed, at once and at most once in a second, and nothing of what changed in them. It costs no
//     memory beyond that, so that a slow reader harms no other; one that takes nothing is dropped. Streams end when the server does.
//   - An answer that may lack something says so in its warnings.
//   - One client can ask only so often, and no client can be of another origin.
//   - No answer holds the content of a config, the fingerprint of a single key, or a mark's value; see package view.
//
// A route is one file: its parameters, its filter and its handler. Package projection has the data.
package api
