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

// TestMetaOf: only annotations that were asked for are kept, and a selector chooses by labels.
func TestMetaOf(t *testing.T) {
	for name, test := range map[string]struct {
		selector string
		labels   map[string]string
		want     bool
	}{
		"no selector": {"", nil, false},
		"match":       {"reload=yes", map[string]string{"reload": "yes", "team": "a"}, false},
		"no labels":   {"reload", nil, true},
	} {
		c := newCluster(&connection{options: Options{KeepAnnotation: func(key string) bool { return key == "wanted" }}})
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
