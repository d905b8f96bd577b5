// Package webhook is the server of the sources that post hints, such as the audit events of Kubernetes API servers. Its paths are in route.go.
//
// Guarantees:
//   - A POST is answered with success only after the Sink has stored every hint of the body, and is answered within 10 s after the body has
//     arrived. Any other answer makes the API server send the body again.
//   - Amazon Data Firehose, which shows itself by its request ID, is answered as its contract asks.
//   - A body is read only after its sender is authenticated for the cluster in the path.
//   - No answer is a redirect: an API server would take the page behind one for success.
//   - Errors are answered with a metav1.Status, whose message the API server writes into its log. It says what to fix and quotes
//     nothing of the body.
//   - Certificates, client CAs and tokens are read again when their files change. A file that has become bad is reported, and the
//     last good one stays in use.
//   - Everything that bounds a request is in limits.go.
package webhook
