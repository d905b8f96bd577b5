package workload

import (
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefreshKey is the pod annotation that is changed so that the kubelet refreshes the volumes of the pod at once.
const RefreshKey = "reroll.dev/refresh"

// RunningPod is a pod that can be asked to reload. What is in its status is foreign input: the address may be anything.
type RunningPod struct {
	Namespace, Name, UID string
	// Address is the IP address of the pod; with HostNetwork it is that of the node. It is empty until the pod has one.
	Address     string
	HostNetwork bool
	// Node is the name of the node, and NodeAddresses are its IP addresses as the pod's status has them.
	Node          string
	NodeAddresses []netip.Addr
	// Created is when the pod was created, and Started the oldest start of its containers, in whole seconds, rounded down. Started is zero
	// unless all containers run.
	Created, Started time.Time
	// Refreshed is the value of RefreshKey.
	Refreshed string
	// Ports are the TCP ports that the containers declare. Init containers do not count.
	Ports []corev1.ContainerPort
}

// RunningPodOf returns pod as one that can be asked to reload.
func RunningPodOf(pod *corev1.Pod) RunningPod {
	p := RunningPod{
		Name: pod.Name, UID: string(pod.UID), Namespace: pod.Namespace, Address: pod.Status.PodIP, HostNetwork: pod.Spec.HostNetwork,
		Node: pod.Spec.NodeName, Created: pod.CreationTimestamp.Time, Refreshed: pod.Annotations[RefreshKey],
	}
	for _, host := range append(pod.Status.HostIPs, corev1.HostIP{IP: pod.Status.HostIP}) {
		if address, err := netip.ParseAddr(host.IP); err == nil {
			p.NodeAddresses = append(p.NodeAddresses, address.Unmap())
		}
	}
	for i, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Protocol == corev1.ProtocolTCP || port.Protocol == "" {
				p.Ports = append(p.Ports, port)
			}
		}
		if at := startOf(c.Name, pod.Status.ContainerStatuses, false).At; i == 0 || at.Before(p.Started) {
			p.Started = at // a container that does not run has the zero time
		}
	}
	return p
}

// hashLabels are the labels of pods that name the hash or number of the object between them and their workload, and the kind of that object.
var hashLabels = map[string]struct{ label, kind string }{
	"Deployment":       {"pod-template-hash", "ReplicaSet"},
	"Rollout":          {"rollouts-pod-template-hash", "ReplicaSet"},
	"DeploymentConfig": {"deployment", "ReplicationController"},
}

// Owns reports whether a pod that the selector of w finds is one of w, by its controller. Known is false if the pod does not say it: its
// ReplicaSet may be one that was made by hand and adopted.
func (w *Workload) Owns(pod *corev1.Pod) (owns, known bool) {
	owner := metav1.GetControllerOf(pod)
	between, indirect := hashLabels[w.Kind]
	if owner == nil || !indirect || owner.Kind != between.kind {
		return owner != nil && !indirect && owner.UID == w.UID, true
	}
	hash := pod.Labels[between.label]
	if w.Kind == DeploymentConfig.Kind { // here it is the whole name
		hash = hash[strings.LastIndexByte(hash, '-')+1:]
	}
	known = hash != "" && !strings.Contains(hash, "-") && strings.HasSuffix(owner.Name, "-"+hash)
	return known && owner.Name == w.Name+"-"+hash, known
}
