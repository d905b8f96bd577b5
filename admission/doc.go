// Package admission answers the API server's mutating admission webhook for workloads, so that writes of users and tools do not undo or repeat rolls.
//
// Guarantees:
//
//   - Every request is allowed, whatever goes wrong. A warning and a metric report the failure, and the dispatcher does the rest.
//   - A request that drops applied.Key or marks, or has older ones, gets those of before back in their places, so that nothing rolls because of it.
//   - A request that changes the pod template gets the marks for the live configs and a State with one more roll, so that config and workload roll once.
//     No write in that State is older than the one that the object had.
//   - Nothing else is written. The creation of a workload, opting in or out and requests of the dispatcher stay as they are.
//   - Nothing of a request is read before its caller has proved to be an API server. Only configs of the workload's namespace are read. Their content is
//     forgotten with the request.
//
// A request passes handler.go (HTTP), review.go (what it is about), draft.go and restore.go (what it drops and changes), see.go (the configs), and
// bring.go (the roll).
package admission
