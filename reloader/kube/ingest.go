package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The labels and names that the chart gives the objects of a release.
const (
	partLabel     = "app.kubernetes.io/part-of=reroll" // of any release, whatever nameOverride makes of its name
	releaseLabel  = "app.kubernetes.io/instance"
	ingestPort    = "ingest"
	ingestSuffix  = "-ingest"
	caSuffix      = "-ca"
	clientSuffix  = "-audit-client"
	clusterFlag   = "cluster-name"
	ingestTLSFlag = "ingest-tls-cert"
	// maxReleaseObjects bounds the objects of one kind that are looked at in Reroll's own namespace.
	maxReleaseObjects = 500
)

// ErrNoRelease means that Reroll's own namespace has no release that takes audit events.
var ErrNoRelease = errors.New("no release of Reroll takes audit events there")

// Ingest is how a release takes audit events.
type Ingest struct {
	Release, Namespace, Service string
	// Cluster is the name of the cluster. It is empty if the pods do not say it.
	Cluster string
	// Type is that of the Service, with what it has of addresses.
	Type           corev1.ServiceType
	ClusterIP      string
	Balancers      []string
	Port, NodePort int32
	// CA is the Secret with the CA that Reroll has made, and its key. Its Data is nil if there is none.
	CA Material
	// Client is the Secret in which cert-manager keeps a client certificate for the API server.
	Client Material
	// Serving is the Secret with the certificate that the ingest shows, if that is not its own business.
	Serving Material
}

// Material is the content of a Secret.
type Material struct {
	Secret string
	Data   map[string][]byte
}

// FindIngest returns how a release in Reroll's own namespace takes audit events: the one of a name, or the only one if that is empty. It reads
// the Secrets with the certificates. It fails with ErrNoRelease if there is none.
func (c *Cluster) FindIngest(ctx context.Context, release string) (Ingest, error) {
	options := metav1.ListOptions{LabelSelector: partLabel, Limit: maxReleaseObjects}
	services, err := c.client.CoreV1().Services(c.Namespace).List(ctx, options)
	if err != nil {
		return Ingest{}, fmt.Errorf("list the Services of namespace %s: %w", c.Namespace, err)
	}
	var found []Ingest
	for i := range services.Items {
		if one, ok := ingestOf(&services.Items[i]); ok && (release == "" || one.Release == release) {
			found = append(found, one)
		}
	}
	switch {
	case len(found) == 0 && release != "":
		return Ingest{}, fmt.Errorf("release %s in namespace %s: %w", release, c.Namespace, ErrNoRelease)
	case len(found) == 0:
		return Ingest{}, fmt.Errorf("namespace %s: %w", c.Namespace, ErrNoRelease)
	case len(found) > 1:
		var names []string
		for _, one := range found {
			names = append(names, one.Release)
		}
		slices.Sort(names)
		return Ingest{}, fmt.Errorf("namespace %s has several releases of Reroll: %s", c.Namespace, strings.Join(names, ", "))
	}
	return c.completeIngest(ctx, found[0])
}

// ingestOf returns what a Service says.
func ingestOf(s *corev1.Service) (Ingest, bool) {
	i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == ingestPort })
	if i < 0 || s.Spec.ClusterIP == corev1.ClusterIPNone {
		return Ingest{}, false
	}
	one := Ingest{
		Release: s.Labels[releaseLabel], Namespace: s.Namespace, Service: s.Name, Type: s.Spec.Type, ClusterIP: s.Spec.ClusterIP,
		Port: s.Spec.Ports[i].Port, NodePort: s.Spec.Ports[i].NodePort,
	}
	for _, balancer := range s.Status.LoadBalancer.Ingress {
		one.Balancers = append(one.Balancers, cmp.Or(balancer.Hostname, balancer.IP))
	}
	return one, true
}

// completeIngest adds what the workloads of a release say, and its Secrets.
func (c *Cluster) completeIngest(ctx context.Context, one Ingest) (Ingest, error) {
	pods, err := c.podSpecs(ctx, one.Release)
	if err != nil {
		return one, err
	}
	for _, pod := range pods {
		for _, container := range pod.Containers {
			if dispatches(container) {
				one.Cluster = cmp.Or(one.Cluster, textOf(container, clusterFlag))
			}
			if path, given := flagOf(container, ingestTLSFlag); given {
				one.Serving.Secret = cmp.Or(one.Serving.Secret, secretAt(pod, container, path))
			}
		}
	}
	one.CA.Secret = one.Service + caSuffix
	one.Client.Secret = strings.TrimSuffix(one.Service, ingestSuffix) + clientSuffix
	for _, m := range []*Material{&one.CA, &one.Client, &one.Serving} {
		if err := c.readMaterial(ctx, m); err != nil {
			return one, err
		}
	}
	return one, nil
}

// podSpecs returns what the pods of a release are made of.
func (c *Cluster) podSpecs(ctx context.Context, release string) (pods []corev1.PodSpec, err error) {
	options := metav1.ListOptions{LabelSelector: partLabel + "," + releaseLabel + "=" + release, Limit: maxReleaseObjects}
	sets, err := c.client.AppsV1().StatefulSets(c.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list the StatefulSets of namespace %s: %w", c.Namespace, err)
	}
	deployments, err := c.client.AppsV1().Deployments(c.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list the Deployments of namespace %s: %w", c.Namespace, err)
	}
	for _, set := range sets.Items {
		pods = append(pods, set.Spec.Template.Spec)
	}
	for _, deployment := range deployments.Items {
		pods = append(pods, deployment.Spec.Template.Spec)
	}
	return pods, nil
}

// textOf returns a setting of a container: of its flag, or else of its variable; empty where it is not said there.
func textOf(c corev1.Container, flag string) string {
	text, given := flagOf(c, flag)
	if !given {
		v, _ := variable(c, flag)
		text = v.Value
	}
	if strings.Contains(text, "$(") { // it refers to a variable
		return ""
	}
	return text
}

// secretAt names the Secret that a file of a container comes from; empty if it comes from no Secret.
func secretAt(pod corev1.PodSpec, c corev1.Container, path string) string {
	for _, mount := range c.VolumeMounts {
		if !strings.HasPrefix(path, mount.MountPath+"/") {
			continue
		}
		for _, v := range pod.Volumes {
			if v.Name == mount.Name && v.Secret != nil {
				return v.Secret.SecretName
			}
		}
	}
	return ""
}

// readMaterial reads a Secret, if it has a name and is there.
func (c *Cluster) readMaterial(ctx context.Context, m *Material) error {
	if m.Secret == "" {
		return nil
	}
	secret, err := c.client.CoreV1().Secrets(c.Namespace).Get(ctx, m.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w", c.Namespace, m.Secret, err)
	}
	m.Data = secret.Data
	return nil
}

// dispatches reports whether a container decides and rolls.
func dispatches(c corev1.Container) bool {
	words := slices.Concat(c.Command, c.Args)
	return slices.Contains(words, "serve") || slices.Contains(words, "dispatch")
}

// flagOf returns the last value of a flag, which is true if it has none.
func flagOf(c corev1.Container, flag string) (text string, given bool) {
	for _, word := range slices.Concat(c.Command, c.Args) {
		if value, is := strings.CutPrefix(word, "--"+flag+"="); is {
			text, given = value, true
		} else if word == "--"+flag {
			text, given = "true", true
		}
	}
	return text, given
}

// variable returns the last variable that stands for a flag.
func variable(c corev1.Container, flag string) (found corev1.EnvVar, given bool) {
	name := "REROLL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	for _, v := range c.Env {
		if v.Name == name {
			found, given = v, true
		}
	}
	return found, given
}
