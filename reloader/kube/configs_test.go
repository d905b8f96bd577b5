package kube

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader/live"
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
			"no single one can be named", []metav1.ManagedFieldsEntry{entry("a", "", `{"f:data":{}}`, noon), entry("b", "", `{"f:data":{}}`, noon)}, "", noon,
		},
		"an annotation": {"it may be called data", []metav1.ManagedFieldsEntry{entry("x", "", `{"f:metadata":{"f:annotations":{"f:data":{}}}}`, noon)}, "", time.Time{}},
		"subresource":   {"a subresource holds no data", []metav1.ManagedFieldsEntry{entry("x", "status", `{"f:data":{}}`, noon)}, "", time.Time{}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			manager, at := dataManager(test.entries)
			if manager != test.want || !at.Equal(test.at) {
				t.Errorf("%q at %s, want %q at %s: %s", manager, at, test.want, test.at, test.reason)
			}
		})
	}
}

// TestMetaOf: only annotations that were asked for are kept, and a selector chooses by labels.
func TestMetaOf(t *testing.T) {
	for name, test := range map[string]struct {
		selector string
		labels   map[string]string
		want     bool
	}{
		"no selector":  {"", nil, false},
		"match":        {"reload=yes", map[string]string{"reload": "yes", "team": "a"}, false},
		"other value":  {"reload=yes", map[string]string{"reload": "no"}, true},
		"no labels":    {"reload", nil, true},
		"two, one met": {"reload,team=a", map[string]string{"reload": "", "team": "b"}, true},
	} {
		c := &Cluster{options: Options{KeepAnnotation: func(key string) bool { return key == "wanted" }}}
		if test.selector != "" {
			selector, err := labels.Parse(test.selector)
			if err != nil {
				t.Fatal(err)
			}
			c.options.ResourceSelector = selector
		}
		got := c.metaOf(&metav1.ObjectMeta{UID: "u", ResourceVersion: "7", Labels: test.labels, Annotations: map[string]string{
			"wanted": "yes", corev1.LastAppliedConfigAnnotation: "the whole content",
		}})
		want := live.Meta{UID: "u", ResourceVersion: "7", Labels: test.labels, Annotations: map[string]string{"wanted": "yes"}, Unselected: test.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzDataManager takes anything for the managed fields of a config. Who is said to have written its data has an entry of the object
// itself whose fields have data.
func FuzzDataManager(f *testing.F) {
	entry := func(manager, time, fields string) string {
		return `[{"manager":"` + manager + `","operation":"Update","apiVersion":"v1","time":"` + time + `","fieldsType":"FieldsV1","fieldsV1":` + fields + `}]`
	}
	for _, seed := range []string{
		entry("kubectl", "2026-11-21T12:00:00Z", `{"f:data":{".":{},"f:k":{}}}`),
		entry("kubectl", "2026-11-21T12:00:00Z", `{"f:binaryData":{},"f:type":{}}`),
		entry("labeler", "2026-11-21T12:00:00Z", `{"f:metadata":{"f:annotations":{"f:data":{}}}}`),
		entry("labeler", "2026-11-21T12:00:00Z", `{"f:metadata":{"f:annotations":{"f:x\"f:data\"":{}}}}`),
		entry("odd", "9999-12-31T23:59:59Z", `"\"f:data\""`),
		`[{"manager":"x","time":null,"fieldsV1":{"f:data":{}}},{"manager":"y","subresource":"status","time":"2026-11-21T12:00:00Z","fieldsV1":{"f:data":{}}}]`,
		`[null,{}]`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var entries []metav1.ManagedFieldsEntry
		if json.Unmarshal(data, &entries) != nil {
			return
		}
		manager, at := dataManager(entries)
		if manager == "" {
			return
		}
		for _, e := range entries {
			var fields map[string]json.RawMessage
			if e.Manager != manager || e.Subresource != "" || e.Time == nil || !e.Time.Time.Equal(at) || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
				continue
			}
			if fields["f:data"] != nil || fields["f:binaryData"] != nil {
				return
			}
		}
		t.Errorf("%q is said to have written data at %s, by %s", manager, at, data)
	})
}
