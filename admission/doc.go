// Package admission keeps the marks of workloads while others write them: it answers the API server's mutating admission webhook.
//
// What it promises:
//
//   - Every request is allowed, whatever goes wrong; a warning and a metric tell what did.
//   - A workload that has not opted in, and one that the dispatcher itself writes, is left as it is.
//   - A mark that the workload had and a request drops is there again, in its place, so that nothing rolls because of that.
//   - A mark is added or brought up to date only at the creation of a workload and by a request that changes its pod template anyway. Opting
//     in, a label or the number of replicas rolls nothing.
//   - The marks are those that the dispatcher would write, and strategy.BroughtKey tells it so: it does not roll for the same content again.
//   - Nothing is written anywhere, so that a dry run is answered like any other request. Content is fetched, fingerprinted and let go for
//     each request.
//
// What is missed, because the webhook was away or could not read a config in time, is the dispatcher's to mend, as without a webhook.
//
// The path of a request is to be read in this order: handler.go (HTTP), review.go (whose request is it), draft.go (what did it drop and
// change), see.go (what do the configs say), stamp.go (the marks).
package admission
