package kube

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
)

// store is a cluster with PodStatuses and one class.
type store struct {
	*Cluster
	statuses *dynamicfake.FakeDynamicClient
	classes  *metadatafake.FakeMetadataClient
}

var vault = reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop", Name: "vault"}

func newStore(t *testing.T, class *metav1.PartialObjectMetadata, statuses ...*unstructured.Unstructured) store {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := store{
		statuses: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			providerPodStatuses: "SecretProviderClassPodStatusList",
		}),
		classes: metadatafake.NewSimpleMetadataClient(scheme),
	}
	// The fakes guess a plural from the kind, and guess it wrong.
	for _, u := range statuses {
		if err := s.statuses.Tracker().Create(providerPodStatuses, u, u.GetNamespace()); err != nil {
			t.Fatal(err)
		}
	}
	if class != nil {
		if err := s.classes.Tracker().Create(providerClasses, class, class.Namespace); err != nil {
			t.Fatal(err)
		}
	}
	s.Cluster = newCluster(&connection{dynamic: s.statuses, metadata: s.classes, options: Options{KeepAnnotation: func(key string) bool { return key == "wanted" }}})
	return s
}

func vaultClass() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "secrets-store.csi.x-k8s.io/v1", Kind: "SecretProviderClass"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "vault", UID: "class", ResourceVersion: "5",
			Annotations: map[string]string{"wanted": "yes", "other": "no"},
		},
	}
}

func podStatusOf(t *testing.T, name, class string, generation int64, second int, objects ...any) *unstructured.Unstructured {
	t.Helper()
	u := parsed(t, podStatusJSON)
	u.SetName(name)
	u.SetUID("")
	u.SetGeneration(generation)
	u.SetResourceVersion(fmt.Sprint(second))
	fields := u.GetManagedFields()
	fields[0].Time = &metav1.Time{Time: noon.Add(time.Duration(second) * time.Second)}
	u.SetManagedFields(fields)
	list := []any{}
	for i := 0; i < len(objects); i += 2 {
		list = append(list, map[string]any{"id": objects[i], "version": objects[i+1]})
	}
	status := map[string]any{"secretProviderClassName": class, "objects": list}
	if err := unstructured.SetNestedMap(u.Object, status, "status"); err != nil {
		t.Fatal(err)
	}
	return u
}

// entries returns what a content holds, as only a test may look at it.
func entries(c digest.Content) map[string]string {
	found := map[string]string{}
	c.Each(func(_ digest.Section, key string, value []byte) { found[key] = string(value) })
	return found
}

func TestProviderClassIsReadFromItsPodStatuses(t *testing.T) {
	s := newStore(
		t, vaultClass(),
		podStatusOf(t, "a", "vault", 2, 5, "db", "v2", "key", "v1"), podStatusOf(t, "b", "vault", 1, 1, "db", "v1", "key", "v1"),
		podStatusOf(t, "c", "other", 2, 9, "db", "v9"),
	)
	obj, err := s.Get(t.Context(), vault)
	if err != nil {
		t.Fatal(err)
	}
	want := live.Meta{
		UID: "class", ResourceVersion: ".5", Annotations: map[string]string{"wanted": "yes"},
		DataManager: "secrets-store-csi-driver", DataWritten: noon.Add(5 * time.Second),
	}
	if diff := cmp.Diff(want, obj.Meta); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"db": "v2", "key": "v1"}, entries(obj.Content)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	meta, err := s.Meta(t.Context(), vault)
	if diff := cmp.Diff(want, meta); diff != "" || err != nil {
		t.Errorf("metadata alone: %v (-want +got):\n%s", err, diff)
	}
}

func TestProviderClassWithoutOneOfItsParts(t *testing.T) {
	status := podStatusOf(t, "a", "vault", 2, 5, "db", "v2")
	cases := map[string]struct {
		reason   string
		class    *metav1.PartialObjectMetadata
		statuses []*unstructured.Unstructured
		// refuse makes reads of a resource fail.
		refuse schema.GroupVersionResource
		with   error
		want   live.Meta
		gone   bool
		fails  bool
	}{
		"no class":     {reason: "its pods still have what they mounted", statuses: []*unstructured.Unstructured{status}, want: live.Meta{ResourceVersion: ".5"}},
		"no status":    {reason: "nothing is mounted", class: vaultClass(), want: live.Meta{UID: "class", ResourceVersion: "none", Annotations: map[string]string{"wanted": "yes"}, Unproven: true}},
		"neither":      {reason: "it does not exist", gone: true},
		"no such kind": {reason: "a driver that is not installed has no objects", refuse: providerPodStatuses, with: apierrors.NewNotFound(schema.GroupResource{}, ""), gone: true},
		"class forbidden": {
			reason: "who may not read it has no annotations", class: vaultClass(), statuses: []*unstructured.Unstructured{status},
			refuse: providerClasses, with: apierrors.NewForbidden(schema.GroupResource{}, "", nil), want: live.Meta{ResourceVersion: ".5"},
		},
		"class unavailable": {
			reason: "its annotations may say that it reloads nothing", class: vaultClass(), statuses: []*unstructured.Unstructured{status},
			refuse: providerClasses, with: apierrors.NewInternalError(fmt.Errorf("etcd")), fails: true,
		},
		"statuses forbidden": {
			reason: "nobody knows the content", class: vaultClass(),
			refuse: providerPodStatuses, with: apierrors.NewForbidden(schema.GroupResource{}, "", nil), fails: true,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, test.class, test.statuses...)
			if test.with != nil {
				refuse := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.with }
				s.statuses.PrependReactor("*", test.refuse.Resource, refuse)
				s.classes.PrependReactor("*", test.refuse.Resource, refuse)
			}
			got, err := s.Meta(t.Context(), vault)
			if apierrors.IsNotFound(err) != test.gone || (err != nil && !apierrors.IsNotFound(err)) != test.fails {
				t.Fatalf("%+v, %v: %s", got, err, test.reason)
			}
			got.DataManager, got.DataWritten = "", time.Time{}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestProviderClassesAreListed: a kind that is not served has no objects.
func TestProviderClassesAreListed(t *testing.T) {
	s := newStore(t, vaultClass())
	if got, err := s.List(t.Context(), reloader.SecretProviderClass, "shop"); err != nil || len(got) != 1 || got[vault].UID == "" {
		t.Errorf("%v, %v", got, err)
	}
	s.classes.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	})
	if got, err := s.List(t.Context(), reloader.SecretProviderClass, "shop"); err != nil || len(got) != 0 {
		t.Errorf("a kind that is not served: %v, %v", got, err)
	}
}
