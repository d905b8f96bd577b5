package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	must(t, metav1.AddMetaToScheme(scheme))
	s := store{
		statuses: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			providerPodStatuses: "SecretProviderClassPodStatusList",
		}),
		classes: metadatafake.NewSimpleMetadataClient(scheme),
	}
	// The fakes guess a plural from the kind, and guess it wrong.
	for _, u := range statuses {
		must(t, s.statuses.Tracker().Create(providerPodStatuses, u, u.GetNamespace()))
	}
	if class != nil {
		must(t, s.classes.Tracker().Create(providerClasses, class, class.Namespace))
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
	u := &unstructured.Unstructured{}
	must(t, u.UnmarshalJSON([]byte(podStatusJSON)))
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
	must(t, unstructured.SetNestedMap(u.Object, status, "status"))
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
	must(t, err)
	want := live.Meta{
		UID: "class", ResourceVersion: ".5", Annotations: map[string]string{"wanted": "yes"},
		DataManager: "secrets-store-csi-driver", DataWritten: noon.Add(5 * time.Second),
	}
	same(t, "metadata", want, obj.Meta)
	same(t, "content", map[string]string{"db": "v2", "key": "v1"}, entries(obj.Content))
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
		"no class":  {reason: "its pods still have what they mounted", statuses: []*unstructured.Unstructured{status}, want: live.Meta{ResourceVersion: ".5"}},
		"no status": {reason: "nothing is mounted", class: vaultClass(), want: live.Meta{UID: "class", ResourceVersion: "none", Annotations: map[string]string{"wanted": "yes"}, Unproven: true}},
		"neither":   {reason: "it does not exist", gone: true},
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
			same(t, test.reason, test.want, got)
		})
	}
}

// status returns a PodStatus of one object, written at a second after noon, which is its resource version too.
func status(uid string, second int, updated bool, version string) podStatus {
	return podStatus{
		uid: uid, version: fmt.Sprint(second), order: uint64(second), at: noon.Add(time.Duration(second) * time.Second),
		updated: updated, manager: "driver", objects: map[string]string{"db": version},
	}
}

// TestDecide: the newest update is the content; only it proves anything.
func TestDecide(t *testing.T) {
	sameSecond := func(s podStatus) podStatus {
		s.at = noon
		return s
	}
	cases := map[string]struct {
		reason   string
		statuses []podStatus
		decisive string
		proven   bool
	}{
		"created": {"first mounts are no rotation, and the oldest is where it begins", []podStatus{status("b", 2, false, "v2"), status("a", 1, false, "v1")}, "a", false},
		"within a second": {
			"the order of writes says what the clock does not", []podStatus{sameSecond(status("a", 3, true, "v2")), sameSecond(status("b", 4, true, "v3"))}, "b", true,
		},
		"mounted the same since": {"a new pod confirms", []podStatus{status("a", 3, true, "v2"), status("b", 4, false, "v2")}, "a", true},
		"mounted another since":  {"the update is history", []podStatus{status("a", 3, true, "v2"), status("b", 4, false, "v3")}, "a", false},
	}
	for name, test := range cases {
		if got, proven := decide(test.statuses); got.uid != test.decisive || proven != test.proven {
			t.Errorf("%s: %q decides, proven: %t; want %q, %t: %s", name, got.uid, proven, test.decisive, test.proven, test.reason)
		}
	}
}

// podStatusJSON is a PodStatus as the API server returns it after a rotation, and after another client labelled it.
const podStatusJSON = `{"apiVersion":"secrets-store.csi.x-k8s.io/v1","kind":"SecretProviderClassPodStatus",
"metadata":{"name":"web-0-shop-vault","namespace":"shop","uid":"u","resourceVersion":"77","generation":2,"creationTimestamp":"2026-01-02T12:00:00Z",
"managedFields":[
{"manager":"secrets-store-csi-driver","operation":"Update","time":"2026-01-02T12:00:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{},"f:status":{"f:objects":{}}}},
{"manager":"labeler","operation":"Update","time":"2026-01-02T12:00:09Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{}}}}]},
"status":{"secretProviderClassName":"vault","podName":"web-0","mounted":true,"objects":[{"id":"db","version":"v2"},{"id":"api/key","version":"v7"}]}}`

func FuzzReadPodStatus(f *testing.F) {
	f.Add([]byte(podStatusJSON))
	f.Add([]byte(`{"kind":"X","metadata":{"generation":2.5,"managedFields":[7,{}]},"status":{"objects":{}}}`))
	f.Add([]byte(`{"kind":"X","metadata":7,"status":[]}`))
	f.Add([]byte(`{"kind":"X","status":{"objects":[{"id":"` + strings.Repeat("é", 300) + `"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		u := &unstructured.Unstructured{}
		if u.UnmarshalJSON(body) != nil {
			return
		}
		s := readPodStatus(u)
		for id := range s.objects {
			if !utf8.ValidString(id) {
				t.Errorf("ID %.300q", id)
			}
		}
		if _, proven := decide([]podStatus{s}); proven != s.updated {
			t.Errorf("one PodStatus that is updated: %t proves: %t", s.updated, proven)
		}
	})
}
