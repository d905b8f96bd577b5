package kube

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/reroll-dev/reroll/reloader/control"
)

func TestWrittenAt(t *testing.T) {
	made := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: made.Add(after)} }
	for name, c := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   time.Time
	}{
		"nobody has said when":  {nil, made},
		"the last one counts":   {[]metav1.ManagedFieldsEntry{{Time: at(time.Hour)}, {Time: at(time.Minute)}}, made.Add(time.Hour)},
		"one does not say when": {[]metav1.ManagedFieldsEntry{{}, {Time: at(time.Minute)}}, made.Add(time.Minute)},
	} {
		o := &metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: made}, ManagedFields: c.fields}
		if got := writtenAt(o); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestFreezerByManagedFields: who freezes with kubectl alone is known all the same, and what the ConfigMap says of that counts more.
func TestFreezerByManagedFields(t *testing.T) {
	at := metav1.Time{Time: time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)}
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	edited := []metav1.ManagedFieldsEntry{entry("kubectl-create", `{"f:data":{"f:freeze":{}}}`), entry("kubectl-patch", `{"f:data":{"f:freeze-reason":{}}}`)}
	for name, c := range map[string]struct {
		data   map[string]string
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"by kubectl":          {map[string]string{"freeze": "true"}, edited, "field manager kubectl-create since 2026-01-31T18:00:00Z"},
		"by a command":        {map[string]string{"freeze": "true", "freeze-by": "carol", "freeze-since": "2026-01-01T00:00:00Z"}, edited, "carol since 2026-01-01T00:00:00Z"},
		"by whom it says":     {map[string]string{"freeze": "true", "freeze-by": "carol"}, edited, "carol since 2026-01-31T18:00:00Z"},
		"it is not frozen":    {map[string]string{"pauses": ""}, edited, " since "},
		"nobody says who did": {map[string]string{"freeze": "true"}, nil, " since "},
	} {
		got := withFreezer(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.fields}, Data: c.data})
		if said := got[control.ByKey] + " since " + got[control.SinceKey]; said != c.want {
			t.Errorf("%s: %s, want %s", name, said, c.want)
		}
	}
}

// TestWatchControl: whether there is something or nothing is told once it is known, late if need be.
func TestWatchControl(t *testing.T) {
	frozen := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: control.ConfigMap, Namespace: "ops"}, Data: map[string]string{control.FreezeKey: "true"},
	}
	cases := map[string]struct {
		objects []runtime.Object
		late    bool
		want    string
	}{
		"a freeze":            {[]runtime.Object{frozen}, false, "true"},
		"nothing":             {nil, false, ""},
		"a freeze, seen late": {[]runtime.Object{frozen}, true, "true"},
		"nothing, seen late":  {nil, true, ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(test.objects...)
			var refuse atomic.Bool
			refuse.Store(test.late)
			client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				return refuse.Load(), nil, errors.New("no right")
			})
			wait := time.Minute
			if test.late {
				wait = 50 * time.Millisecond
			}
			said := make(chan string, 8)
			c := &Cluster{client: client, Namespace: "ops"}
			err := c.watchControl(t.Context(), wait, func(data map[string]string, _ time.Time) { said <- data[control.FreezeKey] })
			if (err != nil) != test.late {
				t.Fatalf("error %v", err)
			}
			if n := len(said); test.late && n > 0 {
				t.Fatalf("%d answers although nobody knows", n)
			}
			refuse.Store(false)
			if got := <-said; got != test.want || len(said) > 0 {
				t.Errorf("heard %q, and %d more; want %q once", got, len(said), test.want)
			}
		})
	}
}

// TestRunsHere: what Reroll leaves in its namespace shows it, what a command writes there does not, and who may not look is not told the contrary.
func TestRunsHere(t *testing.T) {
	named := func(kind, namespace, name string) runtime.Object {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	}
	for name, c := range map[string]struct {
		object  runtime.Object
		refused bool
		want    bool
	}{
		"a canary":                   {named("ConfigMap", "ops", CanaryName), false, true},
		"a digest key":               {named("Secret", "ops", KeySecret), false, true},
		"what was written before":    {named("ConfigMap", "ops", control.ConfigMap), false, false},
		"only something else":        {named("ConfigMap", "ops", "settings"), false, false},
		"a canary of another place":  {named("ConfigMap", "reroll", CanaryName), false, false},
		"nobody lets us look at all": {named("ConfigMap", "ops", "settings"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := metadatafake.NewTestScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			client := metadatafake.NewSimpleMetadataClient(scheme, c.object)
			if c.refused {
				client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, errors.New("no right")
				})
			}
			if got := (&Cluster{metadata: client, Namespace: "ops"}).RunsHere(t.Context()); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
