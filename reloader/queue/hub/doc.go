// Package hub forwards the records of one cluster to the NATS of a hub, and lets clusters follow configs of others there.
//
// It promises:
//
//   - Once and in order. The position of the cluster is the last message of each atomic batch, and expects the position before it. A batch is stored
//     with its position or not at all, so the process may be killed or cut off at any moment, and two of them may run.
//   - Gaps are reported. Records of the history that were dropped before they were forwarded, or lost with their stream, are in the position.
//   - Nothing waits for the hub. It reads what is stored, and blocks no writer.
//   - One name, one cluster. A hub that knows another cluster by the name gets nothing.
//   - Isolation. A cluster has an account of its own, which imports the subjects that bear its name and nothing else.
package hub
