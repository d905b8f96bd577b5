package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// poll is how often readiness is looked at.
const poll = 50 * time.Millisecond

// Await waits until check returns nil. It returns an error with the end of the log when the program ends or ctx does.
func (p *Program) Await(ctx context.Context, check func(context.Context) error) error {
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ended := p.exited(); ended != nil {
			return ended
		}
		if cause := pause(ctx, poll); cause != nil {
			return p.failure(fmt.Errorf("not ready (%w): %w", err, cause))
		}
	}
}

// httpOK returns a check that url answers 200.
func httpOK(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

func (c *Cluster) apiReady(ctx context.Context) error {
	return c.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// nodeName is what the fake node is called.
const nodeName = "node-1"

// addNodes creates the fake node with room for any number of pods. kwok makes it Ready.
func (c *Cluster) addNodes(ctx context.Context) error {
	if c.options.OwnNodes {
		return nil
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10k"),
		corev1.ResourceMemory: resource.MustParse("1Pi"),
		corev1.ResourcePods:   resource.MustParse("100k"),
	}
	_, err := c.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{
			corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: nodeName}},
		},
	}, metav1.CreateOptions{})
	return err
}

// awaitControllers waits until the controllers work, which shows in the service account of the default namespace, and until kwok does,
// which shows in the nodes.
func (c *Cluster) awaitControllers(ctx context.Context) error {
	err := c.process(ControllerManager).Await(ctx, func(ctx context.Context) error {
		return c.hasServiceAccount(ctx, metav1.NamespaceDefault)
	})
	if err != nil {
		return err
	}
	if !c.options.OwnNodes {
		if err := c.process(Kwok).Await(ctx, c.nodesReady); err != nil {
			return err
		}
	}
	return c.process(Scheduler).exited()
}

func (c *Cluster) hasServiceAccount(ctx context.Context, namespace string) error {
	_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
	return err
}

func (c *Cluster) nodesReady(ctx context.Context) error {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		ready := slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		})
		if !ready {
			return fmt.Errorf("%s is not Ready", node.Name)
		}
	}
	return nil
}
