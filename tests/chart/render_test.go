// Package chart tests the Helm chart and the Compose file as their users meet them: through the real helm, the Compose
// specification's own loader, the API server's own types and the real binary's flags.
package chart_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestLint(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			if out, err := tool(t, "helm", "lint", "--strict", chart, "--values", folder+"/values.yaml"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestRenderedIsGolden(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			got := render(t, "--values", folder+"/values.yaml")
			golden := folder + "/rendered.yaml"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("rendered chart (-golden +now; go test ./tests/chart -update accepts it):\n%s", diff)
			}
		})
	}
}

// TestRenderedHoldsTogether decodes every object strictly and follows the names by which they refer to each other.
func TestRenderedHoldsTogether(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects := decode(t, render(t, "--values", folder+"/values.yaml"))
			pod := statefulSet(t, objects).Spec.Template
			ports := map[string]bool{}
			for _, p := range pod.Spec.Containers[0].Ports {
				ports[p.Name] = true
			}
			services := 0
			for _, object := range objects {
				service, ok := object.(*corev1.Service)
				if !ok {
					continue
				}
				services++
				checkService(t, service, pod.Labels, ports)
			}
			want := 2
			if ports["admission"] {
				want++
			}
			if services != want {
				t.Errorf("%d services, want %d: for audit events, the pod's name and, if there is one, the admission webhook", services, want)
			}
			checkMounts(t, statefulSet(t, objects))
		})
	}
}

func checkService(t *testing.T, service *corev1.Service, labels map[string]string, ports map[string]bool) {
	t.Helper()
	for key, value := range service.Spec.Selector {
		if labels[key] != value {
			t.Errorf("service %s selects %s=%s, the pod has %q", service.Name, key, value, labels[key])
		}
	}
	for _, port := range service.Spec.Ports {
		if !ports[port.TargetPort.String()] {
			t.Errorf("service %s leads to port %s, the pod has %v", service.Name, port.TargetPort.String(), ports)
		}
	}
}

func checkMounts(t *testing.T, set *appsv1.StatefulSet) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range set.Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		volumes[claim.Name] = true
	}
	for _, mount := range set.Spec.Template.Spec.Containers[0].VolumeMounts {
		if !volumes[mount.Name] {
			t.Errorf("mount %s has no volume", mount.Name)
		}
		delete(volumes, mount.Name)
	}
	if len(volumes) > 0 {
		t.Errorf("volumes that nobody mounts: %v", volumes)
	}
}

// TestPodIsRestricted holds the pod to the restricted level of the Pod Security Standards, and to a read-only root.
func TestPodIsRestricted(t *testing.T) {
	spec := statefulSet(t, decode(t, render(t))).Spec.Template.Spec
	container := spec.Containers[0].SecurityContext
	for rule, holds := range map[string]bool{
		"runs as non-root":           *spec.SecurityContext.RunAsNonRoot && *spec.SecurityContext.RunAsUser != 0,
		"default seccomp profile":    spec.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"no privilege escalation":    !*container.AllowPrivilegeEscalation,
		"no capabilities":            cmp.Equal(container.Capabilities, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}),
		"read-only root file system": *container.ReadOnlyRootFilesystem,
		"nothing of the host":        !spec.HostNetwork && !spec.HostPID && !spec.HostIPC,
	} {
		if !holds {
			t.Errorf("the pod breaks: %s", rule)
		}
	}
}

// decode returns the objects of a YAML stream and fails the test on a field or a kind that Kubernetes does not know.
func decode(t *testing.T, stream string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	var objects []runtime.Object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		objects = append(objects, object)
	}
}

func statefulSet(t *testing.T, objects []runtime.Object) *appsv1.StatefulSet {
	t.Helper()
	for _, object := range objects {
		if set, ok := object.(*appsv1.StatefulSet); ok {
			return set
		}
	}
	t.Fatal("no StatefulSet rendered")
	return nil
}

func TestReplicas(t *testing.T) {
	for values, want := range map[string]int32{"default": 1, "ha": 2} {
		set := statefulSet(t, decode(t, render(t, "--values", "testdata/"+values+"/values.yaml")))
		if got := *set.Spec.Replicas; got != want {
			t.Errorf("%s: %d replicas, want %d", values, got, want)
		}
	}
}
