package reloader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ConfigKind says what kind of object a Config is.
type ConfigKind string

// The kinds of config that workloads can depend on.
const (
	ConfigMap ConfigKind = "ConfigMap"
	Secret    ConfigKind = "Secret"
	// SecretProviderClass stands for the objects of an external store that a CSI driver mounts. Its content is not in the cluster:
	// the driver reports versions in each pod's SecretProviderClassPodStatus.
	SecretProviderClass ConfigKind = "SecretProviderClass"
)

// ConfigKindInfo describes a kind of config.
type ConfigKindInfo struct {
	Kind ConfigKind
	// Group, Version and Resource are where the API server serves it.
	Group, Version, Resource string
	// Told is the resource of that group whose updates report new content, without a name: the content is not in the cluster. It is empty for a kind
	// whose objects have their content. Reports need a reader of their own, in kube/configs.go.
	Told string
	// Content are the fields that hold the content: of the object, or of what is Told.
	Content []string
}

// ConfigKindTable describes every kind, in the order of display. A kind of a group may not be installed. References are in workload/references.go.
var ConfigKindTable = []ConfigKindInfo{
	{Kind: ConfigMap, Version: "v1", Resource: "configmaps", Content: []string{"data", "binaryData"}},
	{Kind: Secret, Version: "v1", Resource: "secrets", Content: []string{"data"}},
	{Kind: SecretProviderClass, Group: "secrets-store.csi.x-k8s.io", Version: "v1", Resource: "secretproviderclasses", Told: "secretproviderclasspodstatuses", Content: []string{"status"}},
}

// ConfigKinds lists every kind in that order.
var ConfigKinds = configKinds()

func configKinds() (kinds []ConfigKind) {
	for _, of := range ConfigKindTable {
		kinds = append(kinds, of.Kind)
	}
	return kinds
}

// Info returns what describes k; a zero ConfigKindInfo if k is not a kind of config.
func (k ConfigKind) Info() ConfigKindInfo {
	if i := slices.Index(ConfigKinds, k); i >= 0 {
		return ConfigKindTable[i]
	}
	return ConfigKindInfo{}
}

// External reports whether the content of such configs is not in the cluster: another resource reports its versions.
func (k ConfigKind) External() bool { return k.Info().Told != "" }

// TellingResource returns the resource whose writes report new content.
func (of ConfigKindInfo) TellingResource() string { return cmp.Or(of.Told, of.Resource) }

// Config names an object of one of these kinds inside one cluster. An empty Name stands for every config of Kind in Namespace, which only
// a Hint may say.
type Config struct {
	Cluster   string     `json:"cluster,omitempty" doc:"The cluster that owns the config, if it is not the one of the record."`
	Kind      ConfigKind `json:"kind" doc:"The kind of the config."`
	Namespace string     `json:"namespace" doc:"The namespace of the config."`
	Name      string     `json:"name,omitempty" required:"true" doc:"The name of the config."`
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

// isLabel reports whether s is a DNS-1123 label. It is asked about every audit event, which is why it is not a regular expression.
func isLabel(s string) bool { return len(s) <= maxNamespaceLength && isPlainLabel(s) }

// isSubdomain reports whether s is a DNS-1123 subdomain: labels of any length with dots between them.
func isSubdomain(s string) bool {
	if len(s) > maxNameLength {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !isPlainLabel(label) {
			return false
		}
	}
	return true
}

// isPlainLabel reports whether s is lower case letters, digits and hyphens, with neither end a hyphen.
func isPlainLabel(s string) bool {
	for i := range len(s) {
		alphanumeric := 'a' <= s[i] && s[i] <= 'z' || '0' <= s[i] && s[i] <= '9'
		if !alphanumeric && (s[i] != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != ""
}

// ErrInvalidName is wrapped by every error about a name that Kubernetes would not accept.
var ErrInvalidName = errors.New("invalid name")

// Validate reports whether c could exist in a cluster: a known kind, a DNS-1123 label as namespace, and a DNS-1123 subdomain or
// nothing as name. Only validated names may become part of a subject.
func (c Config) Validate() error {
	if !slices.Contains(ConfigKinds, c.Kind) {
		return fmt.Errorf("%w: kind %.40q is not one of %v", ErrInvalidName, c.Kind, ConfigKinds)
	}
	if !isLabel(c.Namespace) {
		return fmt.Errorf("%w: namespace %.80q is not a DNS-1123 label", ErrInvalidName, c.Namespace)
	}
	if c.Name != "" && !isSubdomain(c.Name) {
		return fmt.Errorf("%w: name %.80q is not a DNS-1123 subdomain", ErrInvalidName, c.Name)
	}
	if c.Cluster != "" {
		return ValidateCluster(c.Cluster)
	}
	return nil
}

// ValidateCluster reports whether name can be a cluster's name: a DNS-1123 label of at most 63 characters.
func ValidateCluster(name string) error {
	if !isLabel(name) {
		return fmt.Errorf("%w: cluster %.80q is not a DNS-1123 label", ErrInvalidName, name)
	}
	return nil
}

// WorkloadRef names a workload inside one cluster.
type WorkloadRef struct {
	Kind      string `json:"kind" doc:"The kind of the workload." example:"Deployment"`
	Namespace string `json:"namespace" doc:"The namespace of the workload."`
	Name      string `json:"name" doc:"The name of the workload."`
}

// DamagedPrefix begins the kind under which the ledger keeps an entry that could not be read.
const DamagedPrefix = "damaged-"

// String returns Kind/namespace/name.
func (w WorkloadRef) String() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// Validate reports whether w could exist in a cluster.
func (w WorkloadRef) Validate() error {
	if w.Kind == "" || len(w.Kind) > maxNamespaceLength {
		return fmt.Errorf("%w: workload kind %.80q", ErrInvalidName, w.Kind)
	}
	if !isLabel(w.Namespace) {
		return fmt.Errorf("%w: namespace %.80q is not a DNS-1123 label", ErrInvalidName, w.Namespace)
	}
	if !isSubdomain(w.Name) {
		return fmt.Errorf("%w: name %.80q is not a DNS-1123 subdomain", ErrInvalidName, w.Name)
	}
	return nil
}
