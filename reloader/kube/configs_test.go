package kube

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
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
			must(t, err)
			c.options.ResourceSelector = selector
		}
		got := c.metaOf(reloader.ConfigMap, &metav1.ObjectMeta{UID: "u", ResourceVersion: "7", Labels: test.labels, Annotations: map[string]string{
			"wanted": "yes", corev1.LastAppliedConfigAnnotation: "the whole content",
		}})
		want := live.Meta{UID: "u", ResourceVersion: "7", Labels: test.labels, Annotations: map[string]string{"wanted": "yes"}, Unselected: test.want}
		same(t, name, want, got)
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
		manager, at := dataManager(reloader.ConfigMap, entries)
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

// withKind adds a kind of config to the table until the test ends.
func withKind(t *testing.T, of reloader.ConfigKindInfo) {
	table, kinds := reloader.ConfigKindTable, reloader.ConfigKinds
	t.Cleanup(func() { reloader.ConfigKindTable, reloader.ConfigKinds = table, kinds })
	reloader.ConfigKindTable, reloader.ConfigKinds = append(slices.Clone(table), of), append(slices.Clone(kinds), of.Kind)
}

// TestKindOfTheTableAlone: a row of the table is all that it takes to read a custom resource, its fingerprint and who wrote its content.
func TestKindOfTheTableAlone(t *testing.T) {
	withKind(t, reloader.ConfigKindInfo{Kind: "MadeUp", Group: "example.com", Version: "v1", Resource: "madeups", Content: []string{"spec", "rules"}})
	config := reloader.Config{Kind: "MadeUp", Namespace: "shop", Name: "web"}
	resource := resourceOf(config.Kind)
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "MadeUpList"})
	c := newCluster(&connection{dynamic: objects, options: Options{KeepAnnotation: func(key string) bool { return key == "wanted" }}})
	if _, err := c.Get(t.Context(), config); !apierrors.IsNotFound(err) {
		t.Errorf("an absent one: %v", err)
	}
	entry := func(manager, at string, fields map[string]any) any {
		return map[string]any{"manager": manager, "time": at, "fieldsType": "FieldsV1", "fieldsV1": fields}
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "MadeUp",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "labels": map[string]any{"team": "a"},
			"annotations": map[string]any{"wanted": "yes", corev1.LastAppliedConfigAnnotation: "the whole content"},
			"managedFields": []any{
				entry("kubectl", "2026-01-02T12:00:00Z", map[string]any{"f:spec": map[string]any{"f:level": map[string]any{}}}),
				entry("other", "2026-01-02T12:00:05Z", map[string]any{"f:data": map[string]any{}, "f:metadata": map[string]any{"f:annotations": map[string]any{"f:spec": map[string]any{}}}}),
			},
		},
		"spec":  map[string]any{"level": "debug", "limits": map[string]any{"b": int64(2), "a": int64(1)}},
		"rules": []any{"x"},
	}}
	must(t, objects.Tracker().Create(resource, object, config.Namespace))
	obj, err := c.Get(t.Context(), config)
	must(t, err)
	want := live.Meta{
		UID: "u", ResourceVersion: "7", Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"wanted": "yes"},
		DataManager: "kubectl", DataWritten: noon, Written: noon.Add(5 * time.Second),
	}
	same(t, "metadata", want, obj.Meta)
	got := map[string]string{}
	obj.Content.Each(func(_ digest.Section, key string, value []byte) { got[key] = string(value) })
	if diff := cmp.Diff(map[string]string{"spec.level": `"debug"`, "spec.limits": `{"a":1,"b":2}`, "rules": `["x"]`}, got); diff != "" || obj.Content.Config() != config {
		t.Errorf("content of %s (-want +got):\n%s", obj.Content.Config(), diff)
	}
}

// TestKindThatNothingReads: a kind without content fields, or whose content another resource reports, needs a reader of its own.
func TestKindThatNothingReads(t *testing.T) {
	objects := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	c := newCluster(&connection{dynamic: objects})
	for _, of := range []reloader.ConfigKindInfo{{}, {Content: []string{"status"}, Told: "reports"}} {
		of.Kind, of.Group, of.Version, of.Resource = "MadeUp", "example.com", "v1", "madeups"
		withKind(t, of)
		if obj, err := c.Get(t.Context(), reloader.Config{Kind: of.Kind, Namespace: "shop", Name: "web"}); err == nil || len(objects.Actions()) > 0 {
			t.Errorf("%+v: read %+v, %v", of, obj, err)
		}
	}
}
