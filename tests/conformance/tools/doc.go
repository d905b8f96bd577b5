// Package tools shows, sentence by sentence, what becomes of the behaviour of other tools under Reroll: kept, or fixed on purpose. The folders next to
// this package have the cases; docs/migrate-from-others.md sums up what is fixed. The sources were read at
//
//	SAP/pod-reloader a0b9bcc0, wave-k8s/wave b4e8d70c, Collaborne/kubernetes-reloader 9a93b396, fabric8io/configmapcontroller 3fc50a70,
//	mfojtik/k8s-trigger-controller 3ad65e90
package tools
