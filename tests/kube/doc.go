// Package kube starts real Kubernetes control planes for tests, benchmarks and the demo: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, and kwok in the place of kubelets, so that Deployments really roll. Nothing of it is part
// of the product, and it needs neither containers nor root.
//
// What it promises:
//
//   - Parts builds the programs from their Go modules once per machine, however many test packages ask at once, and an interrupted
//     build leaves nothing half-made.
//   - Any number of clusters run side by side: all ports are on 127.0.0.1, and this process's own until it ends.
//   - When Start returns, Deployments can be rolled out. When it fails, the error carries the end of the failing program's log.
//   - After Stop no process is left. None is left either when the calling process is killed.
//
// A test package starts one cluster in TestMain, and each test has a namespace of its own there.
package kube
