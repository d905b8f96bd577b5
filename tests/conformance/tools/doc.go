// Package tools shows, sentence by sentence, what becomes of the behaviour of SAP's pod-reloader, Wave, Collaborne's kubernetes-reloader,
// fabric8's configmapcontroller and k8s-trigger-controller under Reroll: kept, or fixed on purpose.
//
// Each file in the folders next to this package that have the names of Tools is one case: what theirs does, what ours does and why, and a
// scenario that shows ours on a real API server. docs/migrate-from-others.md sums up what is fixed. The tools themselves do not run here: what they do is
// restated from their sources.
package tools
