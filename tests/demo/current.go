package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// answerTime is how long the API server may take to say its version or create a namespace.
	answerTime = 10 * time.Second
	// endTime bounds how long reroll may take to drain.
	endTime = 30 * time.Second
	// removalTime bounds the wait for the namespace to be gone.
	removalTime = 3 * time.Minute
)

// currentCluster shows the story on the cluster of the current kubeconfig. All that it writes there is in one namespace.
func currentCluster(ctx context.Context) (err error) {
	name, config, err := currentContext()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	version, err := serverVersion(config)
	if err != nil {
		return fmt.Errorf("the API server of the context %s at %s does not answer: %w", name, config.Host, err)
	}
	say("Context %s: Kubernetes %s at %s.", name, version, config.Host)
	fmt.Println("   The demo creates one namespace there, works only in it, and removes it in the end, also if you interrupt it.")
	if _, err := line.Build(ctx); err != nil {
		return err
	}

	namespace, err := createNamespace(ctx, client)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeNamespace(ctx, client, namespace)) }()
	say("Namespace %s is there.", namespace)

	dir, err := os.MkdirTemp("", "reroll-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r, err := line.StartWatching(ctx, dir, "--context", name, "--namespace", namespace, "--namespaces", namespace)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = r.Terminate(end) // what it has written goes with its folder and the namespace
		r.Kill()
	}()
	say("`reroll serve` runs on this machine and watches the ConfigMaps and Secrets of this namespace.")
	fmt.Println("   This differs from `make demo`: your API server sends no audit events to Reroll. So it sees who changed something by the field manager")
	fmt.Println("   that the API server has stored, not by the user, and when to the second. The demo acts as you, under the names of three field managers.")
	s := &story{
		client: client, reroll: r, namespace: namespace, out: os.Stdout,
		as:  func(string) (kubernetes.Interface, error) { return client, nil },
		who: func(c line.Candidate) string { return c.FieldManager },
	}
	return s.show(ctx, "")
}

// currentContext returns the name of the current context and the access that it gives.
func currentContext() (string, *rest.Config, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{})
	const without = "DEMO_CLUSTER=current uses the current context of KUBECONFIG or ~/.kube/config; make demo without it starts a control plane of its own"
	raw, err := loader.RawConfig()
	if err != nil {
		return "", nil, fmt.Errorf("read the kubeconfig: %w; %s", err, without)
	}
	if raw.CurrentContext == "" {
		return "", nil, errors.New("there is no kubeconfig with a current context; " + without)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return "", nil, fmt.Errorf("context %s of the kubeconfig: %w; %s", raw.CurrentContext, err, without)
	}
	// Warnings of the API server are for those who wrote the manifests.
	config.WarningHandler, config.UserAgent = rest.NoWarnings{}, "reroll-demo"
	return raw.CurrentContext, config, nil
}

func serverVersion(config *rest.Config) (string, error) {
	config = rest.CopyConfig(config)
	config.Timeout = answerTime
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// createNamespace creates a namespace with a name that no other has, and returns it. It does not end with ctx: one that the API server has created is
// one to remove.
func createNamespace(ctx context.Context, client kubernetes.Interface) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	namespace, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "reroll-demo-", Labels: map[string]string{"app.kubernetes.io/managed-by": "reroll-demo"},
	}}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf("this user may not create a namespace, which the demo works in: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("create a namespace: %w", err)
	}
	return namespace.Name, nil
}

// removeNamespace deletes the namespace and waits until it is gone, also after ctx has ended.
func removeNamespace(ctx context.Context, client kubernetes.Interface, namespace string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTime)
	defer cancel()
	say("Removing namespace %s.", namespace)
	err := client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		err = line.Poll(ctx, func(ctx context.Context) error {
			_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return nil
			case err != nil:
				return err
			}
			return errors.New("it is still there")
		})
	}
	if err != nil {
		return fmt.Errorf("remove namespace %s: %w; remove it with: kubectl delete namespace %s", namespace, err, namespace)
	}
	fmt.Println("   It is gone.")
	return nil
}
