// Package watch tests what of a cluster's workloads is watched, on a real API server: which namespaces, which kinds, and what becomes
// of workloads when a kind, a namespace or the object with their pod template comes or goes.
package watch
