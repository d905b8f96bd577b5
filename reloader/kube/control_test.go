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

// TestWatchControl: whether there is something or nothing is told once it is known, late if need be.
func TestWatchControl(t *testing.T) {
	frozen := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: control.ConfigMap, Namespace: "ops"}, Data: map[string]string{control.Key: "freeze: {}"},
	}
	cases := map[string]struct {
		objects []runtime.Object
		late    bool
		want    string
	}{
		"a freeze":            {[]runtime.Object{frozen}, false, "freeze: {}"},
		"nothing":             {nil, false, ""},
		"a freeze, seen late": {[]runtime.Object{frozen}, true, "freeze: {}"},
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
			err := c.watchControl(t.Context(), wait, func(data map[string]string) { said <- data[control.Key] })
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
