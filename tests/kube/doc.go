// Package kube starts real Kubernetes control planes for tests, benchmarks and the demo: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, and kwok in the place of kubelets, so that Deployments really roll. Nothing of it is part
// of the product, and it needs neither containers nor root.
//
// What it promises:
//
//   - Parts builds the programs from their Go modules once per machine, however many test packages ask at once, and an interrupted
//     build leaves nothing half-made.
//   - Any number of clusters run side by side: all ports are on 127.0.0.1, chosen by the kernel, and held while the cluster lives,
//     also while its API server is stopped.
//   - When Start returns, Deployments can be rolled out. When it fails, the error carries the end of the failing program's log.
//   - After Stop no process is left. On Linux none is left either when the calling process is killed.
//
// A test package starts one cluster in TestMain and gives each test its own namespace:
//
//	var cluster *kube.Cluster
//
//	func TestMain(m *testing.M) {
//		cluster = …                    // kube.Start(ctx, kube.Options{})
//		code := m.Run()
//		cluster.Stop()
//		os.Exit(code)
//	}
//
//	func TestRoll(t *testing.T) {
//		ns := cluster.Namespace(t)     // gone again after the test
//		…
//		err := cluster.WaitRollout(ctx, ns, "deployment", "web")
//	}
package kube
