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
