package reloader

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// ConfigKind says what kind of object a Config is.
type ConfigKind string

// The kinds of config that workloads can depend on.
const (
	ConfigMap ConfigKind = "ConfigMap"
	Secret    ConfigKind = "Secret"
	// SecretProviderClass stands for the objects of an external store that a CSI driver mounts. Its content is not in the cluster:
	// the driver tells of versions in each pod's SecretProviderClassPodStatus.
	SecretProviderClass ConfigKind = "SecretProviderClass"
)

// ConfigKinds lists every kind, in the order in which they are shown.
var ConfigKinds = []ConfigKind{ConfigMap, Secret, SecretProviderClass}

// Config names a ConfigMap, Secret or SecretProviderClass inside one cluster. An empty Name stands for every config of Kind in Namespace, which only
// a Hint may say.
type Config struct {
	// Cluster is the owner of a config of another cluster; empty for one of the cluster that it is seen from.
	Cluster   string     `json:"cluster,omitempty"`
	Kind      ConfigKind `json:"kind"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name,omitempty"`
}

// String returns Kind/namespace/name, after the name of another cluster that owns it.
func (c Config) String() string {
	if c.Cluster != "" {
		return c.Cluster + "/" + string(c.Kind) + "/" + c.Namespace + "/" + c.Name
	}
	return string(c.Kind) + "/" + c.Namespace + "/" + c.Name
}

// Limits of Kubernetes on the names used here.
const (
	maxNamespaceLength = 63
	maxNameLength      = 253
)

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// ErrInvalidName is wrapped by every error about a name that Kubernetes would not accept.
var ErrInvalidName = errors.New("invalid name")

// Validate reports whether c could exist in a cluster: a known kind, a DNS-1123 label as namespace, and a DNS-1123 subdomain or
// nothing as name. Only validated names may become part of a subject.
func (c Config) Validate() error {
	if !slices.Contains(ConfigKinds, c.Kind) {
		return fmt.Errorf("%w: kind %.40q is not ConfigMap, Secret or SecretProviderClass", ErrInvalidName, c.Kind)
	}
	if len(c.Namespace) > maxNamespaceLength || !dnsLabel.MatchString(c.Namespace) {
		return fmt.Errorf("%w: namespace %.80q is not a DNS-1123 label", ErrInvalidName, c.Namespace)
	}
	if c.Name != "" && (len(c.Name) > maxNameLength || !dnsSubdomain.MatchString(c.Name)) {
		return fmt.Errorf("%w: name %.80q is not a DNS-1123 subdomain", ErrInvalidName, c.Name)
	}
	if c.Cluster != "" {
		return ValidateCluster(c.Cluster)
	}
	return nil
}

// ValidateCluster reports whether name can be a cluster's name: a DNS-1123 label of at most 63 characters.
func ValidateCluster(name string) error {
	if len(name) > maxNamespaceLength || !dnsLabel.MatchString(name) {
		return fmt.Errorf("%w: cluster %.80q is not a DNS-1123 label", ErrInvalidName, name)
	}
	return nil
}

// WorkloadRef names a workload inside one cluster.
type WorkloadRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns Kind/namespace/name.
func (w WorkloadRef) String() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// Validate reports whether w could exist in a cluster.
func (w WorkloadRef) Validate() error {
	if w.Kind == "" || len(w.Kind) > maxNamespaceLength {
		return fmt.Errorf("%w: workload kind %.80q", ErrInvalidName, w.Kind)
	}
	if len(w.Namespace) > maxNamespaceLength || !dnsLabel.MatchString(w.Namespace) {
		return fmt.Errorf("%w: namespace %.80q is not a DNS-1123 label", ErrInvalidName, w.Namespace)
	}
	if len(w.Name) > maxNameLength || !dnsSubdomain.MatchString(w.Name) {
		return fmt.Errorf("%w: name %.80q is not a DNS-1123 subdomain", ErrInvalidName, w.Name)
	}
	return nil
}
