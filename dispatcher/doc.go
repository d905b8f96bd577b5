// Package dispatcher turns hints into changes and changes into rolled workloads.
//
// Its state is two facts and their difference. latest[X] is the newest verified content of config X, kept in the CHANGES stream.
// handled[W][X] is the content of X that workload W was brought to, kept in W's record. What is pending is every edge (W, X)
// where the two differ, so that any process can compute it anew; nothing that waits holds a message.
//
// What it promises:
//
//   - A hint is acknowledged only after it has become a change in the stream, or was found to be none.
//   - A workload is patched from one read of it, with a precondition on its uid and generation; a stale decision cannot overwrite
//     a newer template.
//   - Content is fetched, fingerprinted and forgotten inside one function (see read in facts.go); nothing else sees it.
//   - A new edge is given a baseline before Ready, so that starting, opting in, or losing the state rolls nothing, and the first
//     edit afterwards does.
//   - One workload that cannot be patched waits alone. If it needs help, that is on record, with the reason.
//   - What became of the last reload of each workload is on record once it is known, whichever process sees it. Where changes go out
//     in steps, none has more of them under way than its step allows.
//
// The path of a hint is to be read in this order: verify.go (hint → change), edges.go (workload → edges and baselines),
// pending.go (change → due workload), flush.go (due workload → patch), settle.go (patch → records), rollout.go (patch → what became of it).
package dispatcher
