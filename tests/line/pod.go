package line

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/kube"
)

// Pod is a pod of the chart, which nothing here runs: a process stands for it.
type Pod struct {
	Name, Namespace string
	Spec            corev1.PodSpec
	// Files returns what a mounted ConfigMap or Secret holds.
	Files func(v corev1.Volume) (map[string]string, error)
	// Dir is where volumes are.
	Dir string
}

// LivePod returns the first pod of a StatefulSet that is installed, and the kubeconfig of its account.
func LivePod(ctx context.Context, cluster *kube.Cluster, namespace, name, dir string) (p Pod, kubeconfig string, err error) {
	set, err := cluster.Client().AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return p, "", err
	}
	p = Pod{Name: name + "-0", Namespace: namespace, Spec: set.Spec.Template.Spec, Dir: dir}
	core := cluster.Client().CoreV1()
	p.Files = func(v corev1.Volume) (map[string]string, error) {
		files := map[string]string{}
		if v.ConfigMap != nil {
			config, err := core.ConfigMaps(namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
			maps.Copy(files, config.Data)
			return files, err
		}
		secret, err := core.Secrets(namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && v.Secret.Optional != nil && *v.Secret.Optional {
			return files, nil
		}
		for key, content := range secret.Data {
			files[key] = string(content)
		}
		return files, err
	}
	account := "system:serviceaccount:" + namespace + ":" + p.Spec.ServiceAccountName
	kubeconfig, err = cluster.UserKubeconfig(account, "system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
	return p, kubeconfig, err
}

// Arguments are those of the pod, with folders of Dir in the place of its volumes, whose files are written as the kubelet would, but for paths in them.
func (p Pod) Arguments() (arguments []string, err error) {
	container := p.Spec.Containers[0]
	var paths []string
	for _, m := range container.VolumeMounts {
		paths = append(paths, m.MountPath, filepath.Join(p.Dir, m.Name))
	}
	here := strings.NewReplacer(paths...)
	for _, v := range p.Spec.Volumes {
		files := map[string]string{}
		if v.ConfigMap != nil || v.Secret != nil {
			if files, err = p.Files(v); err != nil {
				return nil, fmt.Errorf("volume %s: %w", v.Name, err)
			}
		}
		folder := filepath.Join(p.Dir, v.Name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(here.Replace(content)), 0o600); err != nil {
				return nil, err
			}
		}
	}
	for _, argument := range container.Args {
		arguments = append(arguments, here.Replace(argument))
	}
	return arguments, nil
}

// Environment is that of the pod.
func (p Pod) Environment() (variables []string) {
	fields := map[string]string{"metadata.name": p.Name, "metadata.namespace": p.Namespace}
	for _, v := range p.Spec.Containers[0].Env {
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			v.Value = fields[v.ValueFrom.FieldRef.FieldPath]
		}
		variables = append(variables, v.Name+"="+v.Value)
	}
	return variables
}

// RunPod creates a running pod of a workload whose pods have the label app with its name; hashLabel is the one that its controller gives them. owner is
// the workload; with a hash of pod templates, a ReplicaSet of it owns the pod. No kubelet runs it: the server answers at its port web until ctx ends, at
// all addresses of this machine, over TLS if it has a TLSConfig. That of the pod is not its loopback, which Reroll does not call.
func RunPod(ctx context.Context, client kubernetes.Interface, namespace, hashLabel, name string, owner metav1.OwnerReference, server *http.Server) error {
	route, err := (&net.Dialer{}).DialContext(ctx, "udp4", "198.51.100.1:9") // this sends nothing
	if err != nil {
		return err
	}
	defer route.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", ":0")
	if err != nil {
		return err
	}
	server.ReadHeaderTimeout, server.ErrorLog = time.Minute, slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if server.TLSConfig != nil {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	address := netip.MustParseAddrPort(route.LocalAddr().String()).Addr().String()
	port := int32(netip.MustParseAddrPort(listener.Addr().String()).Port())
	const hash = "5d4f8c7b9"
	workload := owner.Name
	if owner.APIVersion, owner.Controller = "apps/v1", new(true); strings.HasSuffix(hashLabel, "pod-template-hash") {
		owner.Kind, owner.Name, owner.UID = "ReplicaSet", workload+"-"+hash, "unknown"
	}
	pod, err := client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: workload + "-" + hash + "-" + name, Labels: map[string]string{"app": workload, hashLabel: hash},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/main", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: port}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}},
	}
	_, err = client.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
