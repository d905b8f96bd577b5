// Package queue is Reroll's memory on NATS JetStream: hints, changes, reloads and workload records.
//
// It promises:
//
//   - Stored means stored. Put, AppendChange, AppendReload, PutWorkload and DeleteWorkload return nil only after the server has
//     acknowledged every message. The embedded server acknowledges after fsync; for an external one that is its operator's choice.
//   - Streams first. When Open has returned, every stream exists as this program wants it, so nothing can be published into a void.
//   - Order. What one goroutine stores in one kind of record, call after call, is stored in that order. Calls of different
//     goroutines may be stored in any order. Hints are delivered by arrival, but one that comes again comes later.
//   - Duplicates. Delivery is at least once. A call that failed may have been stored, and calling again is harmless: a hint is
//     repeatable, a record replaces its predecessor, a reload has an ID, and AppendChange knows its own change again.
//   - Changes never fork. AppendChange fails with reloader.ErrOutrun if its config has a newer change than the caller knew.
//   - Nothing unreadable is in the way. What cannot be decoded, or is of a newer program, is logged and counted; the delivery of such a hint ends.
//   - Blocking. A writing call waits for at most one commit of others, and then for its own; its context ends the wait but
//     not the write. The package holds at most one batch and one more call for each kind of record: the memory of callers that
//     wait is their own. A handler is called by one goroutine at a time, and holds up those that come after it.
//   - Loss of the server. Calls fail at once while it is away, Healthy says so, and consumers and followers resume by themselves. If
//     it comes back without its streams or with older ones, they are made anew as needed, and followers are told what was lost.
//   - One name, one cluster. BindCluster fails with ErrOtherCluster for a second cluster under a name.
//   - Deletion. While hints of a cluster are consumed, the changes of a config are dropped once its tombstone is 30 days old.
//   - Shutdown. Close lets hint handlers finish, stores what was accepted, flushes acknowledgements, and stops the embedded
//     server after everything that uses it.
//
// With an external server the queue is used in a Role. What each of them publishes on is in one table, permissionTable, from which
// configurations, the advice in errors, and the command that prints permissions are made; nothing but a role's own inbox is subscribed to.
//
//   - ingest publishes hints of its cluster, and looks at the stream HINTS.
//   - dispatch publishes changes, reloads, workload records, the UID and the status of its cluster, and, where it
//     watches configs itself, hints. It pulls hints from the durable consumer dispatch-<cluster>, reads its state through
//     short-lived consumers whose filter is its cluster, reads single records by direct gets, and purges HINTS and CHANGES.
//   - api makes short-lived consumers on CHANGES, RELOADS and both KV buckets, and writes nothing.
//   - admin makes streams and durable consumers (Setup). The others make what they need as far as they may, and use what is there.
//   - forward, at a hub, publishes the records of its cluster and reads them by direct gets. It looks at no stream: to see a stream is to
//     see the names in it. hub-api and hub-admin are to a hub what api and admin are to a cluster.
//
// A server sends its answer to whatever subject the request names, whoever may publish there, and stores it if a stream has that
// subject. So permissions of users keep roles apart that mean well, and accounts keep clusters apart that may not: each has one of its
// own, and what a hub takes from it comes through service imports, whose answers only go back.
//
// The oldest server that is supported is oldestServer. Where the API level or the stream does not allow atomic batches, messages are
// stored one by one, and where messages cannot expire, the ends of workload records stay.
//
// Usage: Open, then any of the methods from any number of goroutines, then Close. All callers' messages of one kind are merged
// into atomic batches, so that many goroutines storing one record each share an fsync.
package queue
