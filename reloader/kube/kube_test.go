package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func entry(manager, subresource, fields string, at time.Time) metav1.ManagedFieldsEntry {
	when := metav1.NewTime(at)
	return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &when, FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestDataManager(t *testing.T) {
	cases := map[string]struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		want    string
		at      time.Time
	}{
		"nobody":   {reason: "an object without managed fields says nothing"},
		"one":      {"who owns data wrote it", []metav1.ManagedFieldsEntry{entry("kubectl", "", `{"f:data":{"f:k":{}}}`, noon)}, "kubectl", noon},
		"binary":   {"binaryData is data", []metav1.ManagedFieldsEntry{entry("kubectl", "", `{"f:binaryData":{}}`, noon)}, "kubectl", noon},
		"metadata": {"who owns labels alone did not", []metav1.ManagedFieldsEntry{entry("labeler", "", `{"f:metadata":{"f:labels":{}}}`, noon)}, "", time.Time{}},
		"newest": {
			"the newest of several counts", []metav1.ManagedFieldsEntry{
				entry("b", "", `{"f:data":{}}`, noon.Add(time.Second)), entry("a", "", `{"f:data":{}}`, noon),
			}, "b", noon.Add(time.Second),
		},
		"same second": {
			"of two in one second, one may have written a label", []metav1.ManagedFieldsEntry{
				entry("a", "", `{"f:data":{},"f:metadata":{}}`, noon), entry("b", "", `{"f:data":{}}`, noon), entry("c", "", `{"f:data":{},"f:metadata":{}}`, noon),
			}, "b", noon,
		},
		"same second, both data": {
			"no single one can be named", []metav1.ManagedFieldsEntry{entry("a", "", `{"f:data":{}}`, noon), entry("b", "", `{"f:data":{}}`, noon)}, "", noon,
		},
		"same second, nothing decides": {
			"no single one can be named", []metav1.ManagedFieldsEntry{
				entry("a", "", `{"f:data":{},"f:metadata":{}}`, noon), entry("b", "", `{"f:data":{},"f:metadata":{}}`, noon),
			}, "", noon,
		},
		"subresource": {"a subresource holds no data", []metav1.ManagedFieldsEntry{entry("x", "status", `{"f:data":{}}`, noon)}, "", time.Time{}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			manager, at, _ := dataManager(test.entries)
			if manager != test.want || !at.Equal(test.at) {
				t.Errorf("%q at %s, want %q at %s: %s", manager, at, test.want, test.at, test.reason)
			}
		})
	}
}

func TestDataAlone(t *testing.T) {
	cases := map[string]struct {
		fields string
		want   bool
		reason string
	}{
		"data":           {`{"f:data":{".":{},"f:k":{}},"f:binaryData":{}}`, true, "its time is that of the data"},
		"data and type":  {`{"f:data":{},"f:type":{}}`, true, "the type of a Secret cannot be changed"},
		"labels":         {`{"f:data":{},"f:metadata":{"f:labels":{"f:x":{}}}}`, false, "its time may be that of a label"},
		"immutable":      {`{"f:data":{},"f:immutable":{}}`, false, "its time may be that of the closing"},
		"labels and not": {`{"f:metadata":{"f:annotations":{"f:data":{}}}}`, false, "there is no data"},
	}
	for name, test := range cases {
		if _, _, got := dataManager([]metav1.ManagedFieldsEntry{entry("m", "", test.fields, noon)}); got != test.want {
			t.Errorf("%s: %v, want %v: %s", name, got, test.want, test.reason)
		}
	}
	newest := []metav1.ManagedFieldsEntry{entry("a", "", `{"f:data":{}}`, noon), entry("b", "", `{"f:data":{},"f:metadata":{}}`, noon.Add(time.Second))}
	if manager, _, alone := dataManager(newest); manager != "b" || alone {
		t.Errorf("%s, %v: what is told of an older entry says nothing about the newest", manager, alone)
	}
}

func TestMetaOfKeepsOnlyWhatIsAskedFor(t *testing.T) {
	c := &Cluster{options: Options{KeepAnnotation: func(key string) bool { return key == "wanted" }}}
	meta := c.metaOf(&metav1.ObjectMeta{UID: "u", ResourceVersion: "7", Annotations: map[string]string{
		"wanted": "yes", corev1.LastAppliedConfigAnnotation: "the whole content",
	}})
	if diff := cmp.Diff(map[string]string{"wanted": "yes"}, meta.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if meta.UID != "u" || meta.ResourceVersion != "7" {
		t.Errorf("meta = %+v", meta)
	}
}

func TestStartedBy(t *testing.T) {
	pod := func(started ...time.Time) *corev1.Pod {
		p := &corev1.Pod{}
		for _, at := range started {
			status := corev1.ContainerStatus{}
			if !at.IsZero() {
				status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}
			}
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
		}
		return p
	}
	ended := func(at time.Time) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(at)}}}
	}
	after := func(first corev1.ContainerStatus, phase corev1.PodPhase, started ...time.Time) *corev1.Pod {
		p := pod(started...)
		p.Status.InitContainerStatuses, p.Status.Phase = []corev1.ContainerStatus{first}, phase
		return p
	}
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		"sidecar": {
			"a sidecar is an init container that goes on", after(pod(noon).Status.ContainerStatuses[0], corev1.PodRunning, noon.Add(time.Second)), true,
		},
		"init before":    {"a container that was restarted alone finds what the init container had made", after(ended(noon), corev1.PodRunning, noon.Add(time.Second)), true},
		"init after":     {"all of it is newer", after(ended(noon.Add(time.Second)), corev1.PodRunning, noon.Add(time.Minute)), false},
		"evicted before": {"a pod that is over runs with nothing", after(ended(noon), corev1.PodFailed), false},
		"before":         {"it read the content of before", pod(noon.Add(-time.Minute)), true},
		"same second":    {"nobody can tell which came first", pod(noon), true},
		"after":          {"it read the content of after", pod(noon.Add(time.Second)), false},
		"not started":    {"it will read what is there then", pod(time.Time{}), false},
		"one of two":     {"one container with old content is enough", pod(noon.Add(time.Second), noon.Add(-time.Second)), true},
		"no container":   {"nothing runs", pod(), false},
	}
	for name, test := range cases {
		if got := startedBy(test.pod, noon); got != test.want {
			t.Errorf("%s: %v, want %v: %s", name, got, test.want, test.reason)
		}
	}
}

func TestStartedBetween(t *testing.T) {
	running := func(name string, at time.Time) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}}}
	}
	pod := func(statuses ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: statuses}}
	}
	within := noon.Add(30 * time.Second)
	going, sidecar := pod(running("m", within)), pod()
	now := metav1.NewTime(noon)
	going.DeletionTimestamp = &now
	sidecar.Status.InitContainerStatuses = []corev1.ContainerStatus{running("m", within)}
	initEnded, over := pod(), pod(running("m", within))
	over.Status.Phase = corev1.PodFailed
	ended := corev1.ContainerStatus{Name: "m", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(within)}}}
	initEnded.Status.InitContainerStatuses = []corev1.ContainerStatus{ended}
	initEnded.Status.ContainerStatuses = []corev1.ContainerStatus{running("n", noon.Add(time.Hour))}
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		"within":          {"its start is between the two", pod(running("m", within)), true},
		"of two":          {"one is enough", pod(running("m", noon.Add(time.Hour)), running("m", within)), true},
		"sidecar":         {"a sidecar is an init container that goes on", sidecar, true},
		"another":         {"a container that needs nothing proves nothing", pod(running("istio-proxy", within)), false},
		"the first time":  {"nobody can tell which came first", pod(running("m", noon)), false},
		"the second time": {"nobody can tell which came first", pod(running("m", noon.Add(time.Minute))), false},
		"ended":           {"what it had read is read again", pod(ended), false},
		"init ended":      {"what it made of the content is in use, also by containers that start later", initEnded, true},
		"over":            {"nothing of it runs", over, false},
		"going away":      {"it may be of an earlier template", going, false},
	}
	for name, test := range cases {
		if got := startedBetween(test.pod, noon, noon.Add(time.Minute), []string{"m", "n"}); got != test.want {
			t.Errorf("%s: %v, want %v: %s", name, got, test.want, test.reason)
		}
	}
}
