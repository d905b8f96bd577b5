// Package webhook is the server for the audit events of Kubernetes API servers and the audit logs of log shippers.
//
// Guarantees:
//   - POST /v1/audit/{cluster} is answered with 204 only after the Sink has stored every hint of the body, and is answered within
//     10 s after the body has arrived. Any other answer makes the API server send the body again.
//   - POST /v1/shipped/{cluster} is answered with success, too, only after everything is stored. What it accepts is said at
//     audit.DecodeShipped; the body may be compressed with gzip or deflate. Amazon Data Firehose, which shows itself by its request ID,
//     is answered as its contract asks.
//   - A body is read only after its sender is authenticated for the cluster in the path.
//   - No answer is a redirect: an API server would take the page behind one for success.
//   - Errors are answered with a metav1.Status, whose message the API server writes into its log. It says what to fix and quotes
//     nothing of the body.
//   - Certificates, client CAs and tokens are read again when their files change. A file that has become bad is reported, and the
//     last good one stays in use.
//   - Everything that bounds a request is in limits.go.
package webhook
