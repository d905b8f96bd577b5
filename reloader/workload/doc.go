// Package workload holds what Reroll needs to know about a Deployment, a CronJob or any other object with a pod template, and nothing
// more.
//
// A Workload is made from the real object by Strip and is small enough to be cached by the thousand: no managed fields, no
// last-applied configuration, no environment value that is not a mark. Each kind of workload is one Kind and one word in Kinds.
package workload
