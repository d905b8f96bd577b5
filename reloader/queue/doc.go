// Package queue carries hints, history and state on NATS JetStream. NATS holds no truth: what a lost store had is derived again, except history.
//
// It promises:
//
//   - Stored means stored. Put and the methods that record return nil only after the server has acknowledged every message. The embedded server
//     acknowledges after fsync; for an external one that is its operator's choice.
//   - Order. What one goroutine stores in one stream, call after call, is stored in that order.
//   - Duplicates. Delivery is at least once, and repeating a call that failed is harmless.
//   - Unreadable messages, and those of a newer program, are logged and counted, and block nothing.
//   - Memory. A writing call waits for at most one commit of others and then for its own; nothing is queued beyond the calls that wait.
//   - Loss of the server. Calls fail, Healthy says so, and consumers and followers resume by themselves. If the server comes back without its
//     streams, they are created again, and KeepRecords and Follow report it.
//   - One name, one cluster. BindCluster fails with ErrOtherCluster for a second cluster with a name.
//   - Shutdown. Close lets handlers finish, stores what was accepted, and stops the embedded server last.
//
// An external server needs an account for each cluster. User permissions do not isolate clusters: a server stores its answer on whatever subject a
// request names. Package hub forwards the records of one cluster to a hub.
package queue
