// Package tools shows on a real API server that Reroll takes over the workloads of SAP's pod-reloader, Wave, Collaborne's
// kubernetes-reloader, fabric8's configmapcontroller, k8s-trigger-controller and xing's restart controller without a roll, from the marks
// that they have left.
//
// What each of them does about a change is shown by the scenarios of tests/scenarios whose names begin with dialect. The tools themselves do
// not run here: their marks are restated in the tests from their sources.
package tools
