// Package scenario runs the data files of tests/scenarios: a cluster that is given, writes that somebody makes, and how often the pod
// template of each workload changes for it.
//
// A scenario knows nothing about who rolls the workloads, nor whether the cluster is a fake or a real API server: it sees both
// through a World. What it counts is metadata.generation, so that a change of a template that ends as it began is counted too.
// Adding a scenario is adding a file.
package scenario
