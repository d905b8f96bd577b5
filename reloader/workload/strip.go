package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// Template is the stripped form of a pod template.
type Template struct {
	// Path is the JSON pointer to the template in the object that has it.
	Path string
	// Annotations has only those that were asked for.
	Annotations map[string]string
	// Scheduler is the name of the scheduler that serves the pods; empty if that is the default one.
	Scheduler string
	// HostNetwork says that the pods have the network of their node.
	HostNetwork bool
	// Containers are the regular containers in their order.
	Containers []Container
	// Init are the names of the init containers in their order, sidecars among them.
	Init []string
	// References has every config that the template refers to, wherever it does.
	References reloader.ByConfig[*Reference]
}

// Has reports whether a regular container has a name.
func (t *Template) Has(container string) bool {
	return slices.ContainsFunc(t.Containers, func(c Container) bool { return c.Name == container })
}

// Container is a regular container of a pod template.
type Container struct {
	Name string
	// Marks are the environment variables that look like marks, in their order.
	Marks []EnvMark
}

// EnvMark is an environment variable whose name is that of a mark.
type EnvMark struct {
	Name string
	// Value is empty unless it is a hash, as lower-case hex or in the writing of fabric8: anything else is not a mark value, and may be
	// content.
	Value string
}

// parts are what every kind of workload has in its own place.
type parts struct {
	meta     *metav1.ObjectMeta
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// templateOf names the object that has the template, if it is another one.
	templateOf *reloader.WorkloadRef
	// dormant is that of Workload.
	dormant bool
	paused  bool
	// progress is how far the workload's newest template is rolled out.
	progress Progress
}

// stripper returns the Strip function of the kind whose typed objects are *T and have their pod template at path.
func stripper[T any](kind, path string, split func(*T) parts) func(any, func(string) bool) (*Workload, error) {
	return func(obj any, keep func(string) bool) (*Workload, error) {
		switch o := obj.(type) {
		case *Workload:
			return o, nil
		case *T:
			return strip(kind, path, split(o), keep), nil
		case json.RawMessage:
			typed := new(T)
			if err := json.Unmarshal(o, typed); err != nil {
				return nil, fmt.Errorf("read %s: %w", kind, err)
			}
			return strip(kind, path, split(typed), keep), nil
		}
		return nil, fmt.Errorf("strip %s: unexpected object %T", kind, obj)
	}
}

func strip(kind, path string, p parts, keep func(string) bool) *Workload {
	return &Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name:              p.meta.Name,
			Namespace:         p.meta.Namespace,
			UID:               p.meta.UID,
			Generation:        p.meta.Generation,
			ResourceVersion:   p.meta.ResourceVersion,
			CreationTimestamp: p.meta.CreationTimestamp,
			DeletionTimestamp: p.meta.DeletionTimestamp.DeepCopy(),
			Labels:            maps.Clone(p.meta.Labels),
			Annotations:       kept(p.meta.Annotations, keep),
		},
		Kind:        kind,
		LastWritten: written(p.meta.ManagedFields),
		Selector:    selectorOf(p.selector),
		TemplateOf:  p.templateOf,
		Dormant:     p.dormant,
		Paused:      p.paused,
		Progress:    p.progress,
		Template: Template{
			Path:        path,
			Annotations: kept(p.template.Annotations, keep),
			Scheduler:   scheduler(p.template.Spec.SchedulerName),
			HostNetwork: p.template.Spec.HostNetwork,
			Containers:  containers(p.template.Spec.Containers),
			Init:        initNames(p.template.Spec.InitContainers),
			References:  references(p.meta.Namespace, p.template),
		},
	}
}

// selectorOf returns the text of a selector; nothing of one that selects nothing or everything.
func selectorOf(s *metav1.LabelSelector) string {
	if text := metav1.FormatLabelSelector(s); text != "<none>" {
		return text
	}
	return ""
}

// scheduler returns nothing for the scheduler that nearly all pods have, so that not every workload remembers it.
func scheduler(name string) string {
	if name == corev1.DefaultSchedulerName {
		return ""
	}
	return name
}

// kept returns the annotations that keep approves. The last applied configuration is dropped whatever keep says: it repeats
// the whole object, and of a config also its content.
func kept(annotations map[string]string, keep func(string) bool) map[string]string {
	var out map[string]string
	for k, v := range annotations {
		if k == corev1.LastAppliedConfigAnnotation || !keep(k) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}

// written returns when something other than a subresource was last written. Users can write managed fields: a time that no
// record can hold counts as none.
func written(fields []metav1.ManagedFieldsEntry) time.Time {
	var newest time.Time
	for _, f := range fields {
		if f.Subresource == "" && f.Time != nil && f.Time.After(newest) && reloader.Storable(f.Time.Time) {
			newest = f.Time.Time
		}
	}
	return newest
}

func initNames(specs []corev1.Container) []string {
	var names []string
	for i := range specs {
		names = append(names, specs[i].Name)
	}
	return names
}

func containers(specs []corev1.Container) []Container {
	out := make([]Container, 0, len(specs))
	for _, s := range specs {
		c := Container{Name: s.Name}
		for _, e := range s.Env {
			if named := envMarkPrefix(e.Name); named != "" {
				c.Marks = append(c.Marks, EnvMark{Name: e.Name, Value: envMarkValue(named, e.Value)})
			}
		}
		out = append(out, c)
	}
	return out
}

// envMarkPrefix returns the prefix of marks that a variable's name starts with; empty if none.
func envMarkPrefix(name string) string {
	for _, prefix := range []string{HashEnv, MarkPrefix, CollabornePrefix, Fabric8Prefix} {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// fabric8Hash is a SHA-256 in the alphabet of base64 for URLs.
var fabric8Hash = regexp.MustCompile(`^[A-Za-z0-9_-]{43}=$`)

// envMarkValue returns what MarkValue does of a variable whose name starts with prefix, but in the writing of the tool.
func envMarkValue(prefix, v string) string {
	if prefix == Fabric8Prefix && fabric8Hash.MatchString(v) {
		return v
	}
	return MarkValue(v)
}

// maxMarkLength is twice the length of the longest hash that any tool writes as hex.
const maxMarkLength = 256

// MarkValue returns v if it could be the value of a mark, lower-case hex, and nothing otherwise: it may be content.
func MarkValue(v string) string {
	if len(v) > maxMarkLength || strings.Trim(v, "0123456789abcdef") != "" {
		return ""
	}
	return v
}
