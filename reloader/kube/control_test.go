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
			c := newCluster(&connection{client: client, Namespace: "ops"})
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
