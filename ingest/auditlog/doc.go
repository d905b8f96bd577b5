// Package auditlog reads the audit log of a kube-apiserver from a file, and goes on reading where it ended before.
//
// Guarantees:
//   - A line is passed over only after the Sink has stored its hint. While the Sink fails, the Tail waits and tries again.
//   - After a restart, a crash included, reading goes on behind the last line whose place was saved. Lines may be read twice.
//   - A file that was renamed is read to its end, then those rotated after it, oldest first, then the new one; also if all that
//     happened while nobody was reading, as long as the files are there. Rotated files may be compressed with gzip.
//   - A file that was copied and truncated is read on in the copy. Without a copy, what was not read is lost, which is counted.
//   - A line is read when it is complete. One that is too long or no audit event is skipped and counted.
//   - Files are known by what they begin with, so that neither a reused inode nor a changed device number matters.
package auditlog
