package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/pki"
)

// SharedVariable names the directory of a control plane that several test binaries use, one after another. The gate starts it once;
// without the variable, every test binary starts its own.
const SharedVariable = "REROLL_RIG"

// sharedFile has the address of the API server, in the directory of the control plane.
const sharedFile = "api.address"

// SharedDir returns the directory of the shared control plane, or the empty string if there is none.
func SharedDir() string { return os.Getenv(SharedVariable) }

// Share lets other processes use the control plane: Start returns it to those that have its directory in REROLL_RIG.
func (c *Cluster) Share() error {
	return os.WriteFile(c.file(sharedFile), []byte(c.api), 0o600)
}

// attach returns the shared control plane in dir. It refuses options that the shared one does not have.
func attach(ctx context.Context, dir string, o Options) (*Cluster, error) {
	if o.alone() {
		return nil, errors.New("these options need a control plane of their own: such a test is nightly (//go:build nightly)")
	}
	content, err := os.ReadFile(filepath.Join(dir, sharedFile))
	if err != nil {
		return nil, fmt.Errorf("%s names no control plane: %w", SharedVariable, err)
	}
	binaries, err := Parts(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, binaries: binaries, dir: dir, api: address(content), processes: map[Part]*process{}, attached: true}
	if c.ca, err = pki.ReadCA(c.file(caFile), c.file(caKeyFile)); err != nil {
		return nil, err
	}
	user := componentUsers[Kubectl]
	if c.admin, err = c.User(user[0], user[1:]...); err != nil {
		return nil, err
	}
	c.client, err = kubernetes.NewForConfig(c.admin)
	return c, err
}

// alone reports whether a control plane with these options cannot be shared.
func (o Options) alone() bool {
	audit := o.Audit != nil && (o.Audit.Level != "" || o.Audit.BatchMaxWait != 0 || o.Audit.Throttle)
	return !o.ControlPlaneOnly || audit || o.Dir != "" || len(o.APIServerFlags) > 0 || o.OwnNodes
}

// empty deletes what would stay in a namespace for ever, and be followed by every later Reroll: without controllers, nothing ends the
// deletion of a namespace.
func (c *Cluster) empty(ctx context.Context, namespace string) error {
	var errs []error
	for _, r := range []struct {
		client   rest.Interface
		resource string
	}{
		{c.client.AppsV1().RESTClient(), "deployments"},
		{c.client.AppsV1().RESTClient(), "statefulsets"},
		{c.client.AppsV1().RESTClient(), "daemonsets"},
		{c.client.BatchV1().RESTClient(), "cronjobs"},
		{c.client.BatchV1().RESTClient(), "jobs"},
		{c.client.CoreV1().RESTClient(), "configmaps"},
		{c.client.CoreV1().RESTClient(), "secrets"},
	} {
		background := metav1.DeletePropagationBackground
		errs = append(errs, r.client.Delete().Namespace(namespace).Resource(r.resource).
			Body(&metav1.DeleteOptions{PropagationPolicy: &background}).Do(ctx).Error())
	}
	return errors.Join(errs...)
}
