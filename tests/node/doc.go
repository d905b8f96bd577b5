// Package node follows the README where its readers do: on a real node, in containers (make node). A kubelet, containerd with runc, the
// bridge of CNI, kube-proxy and CoreDNS work for the rig's control plane; pods are admitted by the restricted profile, started by their
// image, led to by Services, probed, killed and rolled.
//
// All of it lives in namespaces of its own for processes, mounts and network: the test starts itself again in them as their first process.
// When that ends, however it does, the kernel ends every process, every mount and every address with it. Left are a folder and control
// groups, which who started it removes.
package node
