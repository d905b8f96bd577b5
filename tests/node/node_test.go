//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
)

const (
	// startTime bounds how long the node may take to be ready once everything is built.
	startTime = 10 * time.Minute
	nodeName  = "node-1"
	// runtimeSocket is where containerd listens.
	runtimeSocket = "/run/containerd/containerd.sock"
	// Where the README installs, and what runs there then.
	namespace, pod = "reroll", "reroll-0"
)

// node is a cluster with one real node.
type node struct {
	kube     *kube.Cluster
	dir      string
	programs []*kube.Program
	parts    kube.Binaries
}

// startNode starts the whole cluster and returns when its node is ready for pods.
func startNode(ctx context.Context, dir string) (*node, error) {
	n := &node{dir: dir}
	var err error
	if n.parts, err = kube.NodeParts(ctx, os.Stderr); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{n.startRuntime, n.importImages, n.startControlPlane, n.startKubelet, n.startServices, n.awaitReady} {
		if err := step(ctx); err != nil {
			n.stop()
			return nil, err
		}
	}
	return n, nil
}

// start runs a program.
func (n *node) start(path string, args ...string) (*kube.Program, error) {
	p, err := kube.StartProgram(path, args, n.dir)
	if err == nil {
		n.programs = append(n.programs, p)
	}
	return p, err
}

// stop ends what was started. Containers end with the namespace.
func (n *node) stop() {
	for _, p := range n.programs {
		p.Kill()
	}
	if n.kube != nil {
		n.kube.Stop()
	}
}

// write writes a file of the node and returns its path.
func (n *node) write(name, content string) (string, error) {
	path := filepath.Join(n.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(content), 0o600)
}

// startRuntime starts containerd, with pods on a bridge.
func (n *node) startRuntime(ctx context.Context) error {
	plugins, err := pluginDir()
	if err != nil {
		return err
	}
	network, err := n.write("cni/10-bridge.conflist", fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": %q, "isGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": %q, "gateway": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}
}]}`, bridge, podRange, nodeAddress))
	if err != nil {
		return err
	}
	config, err := n.write("containerd.toml", fmt.Sprintf(`version = 2
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  # Root need not be allowed to protect a process better than itself.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, runtimeSocket, pauseImage, plugins, filepath.Dir(network)))
	if err != nil {
		return err
	}
	program, err := exec.LookPath("containerd")
	if err != nil {
		return err
	}
	p, err := n.start(program, "--config="+config)
	if err != nil {
		return err
	}
	return p.Await(ctx, func(ctx context.Context) error {
		_, err := n.ctr(ctx, "version")
		return err
	})
}

// ctr runs a command of containerd about what the kubelet has of it.
func (n *node) ctr(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "ctr", append([]string{"--address=" + runtimeSocket, "--namespace=k8s.io"}, args...)...))
}

// startControlPlane starts an API server that pods reach, and that trusts its kubelet no further than it has to.
func (n *node) startControlPlane(ctx context.Context) (err error) {
	n.kube, err = kube.Start(ctx, kube.Options{
		OwnNodes: true,
		Dir:      filepath.Join(n.dir, "control-plane"),
		APIServerFlags: []string{
			"--bind-address=0.0.0.0", "--advertise-address=" + nodeAddress, "--endpoint-reconciler-type=lease",
			// A list that is given twice adds up: it is RBAC and this.
			"--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction", "--kubelet-preferred-address-types=InternalIP",
		},
	})
	return err
}

// kubeletConfig has the defaults of a kubelet but for what this machine needs: control groups of the old kind, and no evictions because of its
// disk.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /%s
failCgroupV1: false
failSwapOn: false
clusterDNS: [%s]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://%s
resolvConf: %s
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 1Mi, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.available: 0%%, imagefs.inodesFree: 0%%}
`

// startKubelet starts the kubelet as the user that the API server knows the kubelet of this node by.
func (n *node) startKubelet(ctx context.Context) error {
	access, err := n.kube.UserKubeconfig("system:node:"+nodeName, "system:nodes")
	if err != nil {
		return err
	}
	resolver, err := n.write("resolv.conf", "")
	if err != nil {
		return err
	}
	config, err := n.write("kubelet.yaml", fmt.Sprintf(kubeletConfig, filepath.Base(n.dir), nodeAddress, runtimeSocket, resolver))
	if err != nil {
		return err
	}
	p, err := n.start(n.parts.Path(kube.Kubelet), "--config="+config, "--kubeconfig="+access, "--hostname-override="+nodeName, "--node-ip="+nodeAddress)
	if err != nil {
		return err
	}
	return p.Await(ctx, func(ctx context.Context) error {
		_, err := n.kube.Client().CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		return err
	})
}

// startServices starts what makes Services work: kube-proxy for their addresses, CoreDNS for their names.
func (n *node) startServices(context.Context) error {
	access, err := n.kube.UserKubeconfig("system:kube-proxy")
	if err != nil {
		return err
	}
	// The limits of connections are the machine's, and not the node's.
	if _, err := n.start(n.parts.Path(kube.Proxy), "--kubeconfig="+access, "--hostname-override="+nodeName, "--proxy-mode=iptables",
		"--cluster-cidr="+podRange, "--conntrack-max-per-core=0", "--conntrack-min=0"); err != nil {
		return err
	}
	corefile, err := n.write("Corefile", fmt.Sprintf(".:53 {\n  errors\n  kubernetes cluster.local {\n    kubeconfig %s\n  }\n}\n", n.kube.Kubeconfig()))
	if err != nil {
		return err
	}
	_, err = n.start(n.parts.Path(kube.DNS), "-conf="+corefile)
	return err
}

// awaitReady waits until the node says that it is ready, and all its programs run.
func (n *node) awaitReady(ctx context.Context) error {
	for _, p := range n.programs {
		err := p.Await(ctx, func(ctx context.Context) error {
			found, err := n.kube.Client().CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range found.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
					return nil
				}
				err = fmt.Errorf("the node is not ready: %s", c.Message)
			}
			return errors.Join(errors.New("the node says nothing of itself"), err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
