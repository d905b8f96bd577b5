package kube

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func deployment(namespace string, generation int64) *workload.Workload {
	return &workload.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Generation: generation}, Kind: "Deployment"}
}

func rollout(namespace string) *workload.Workload {
	of := deployment(namespace, 0).Ref()
	return &workload.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Kind: "Rollout", TemplateOf: &of}
}

// TestWatcher: what informers report in any order is tracked as it is now, with the template that it runs, if its namespace is selected.
func TestWatcher(t *testing.T) {
	cases := map[string]struct {
		reason string
		steps  []string
		want   []string
	}{
		"rollout first":      {"it is tracked as it is until the Deployment comes", []string{"+r", "+d1"}, []string{"+Rollout a", "+Deployment a", "+Rollout a via 1"}},
		"deployment goes":    {"the Rollout is again as it is", []string{"+d1", "+r", "-d1"}, []string{"+Deployment a", "+Rollout a via 1", "-Deployment a", "+Rollout a"}},
		"rollout goes":       {"the Deployment's changes are its own", []string{"+d1", "+r", "-r", "+d2"}, []string{"+Deployment a", "+Rollout a via 1", "-Rollout a", "+Deployment a"}},
		"created again":      {"the event of the old one comes after the new one is stored", []string{"+d1", "!d2", "~d1"}, []string{"+Deployment a", "-Deployment a", "+Deployment a"}},
		"selected later":     {"it is tracked as it is then", []string{"select", "+d1", "+r", "in"}, []string{"+Deployment a", "+Rollout a via 1"}},
		"selected no longer": {"it is forgotten, and not reported any more", []string{"select", "in", "+d1", "out", "+d2"}, []string{"+Deployment a", "-Deployment a"}},
		"gone before its namespace": {
			"a deletion is reported, whatever its namespace is by then", []string{"select", "in", "+d1", "select", "-d1"}, []string{"+Deployment a", "-Deployment a"},
		},
	}
	objects := map[string]*workload.Workload{"d1": deployment("a", 1), "d2": deployment("a", 2), "r": rollout("a")}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			w := newWatcher(func(w *workload.Workload) {
				text := "+" + w.Kind + " " + w.Namespace
				if w.Via != nil {
					text += fmt.Sprintf(" via %d", w.Via.Generation)
				}
				got = append(got, text)
			}, func(ref reloader.WorkloadRef) { got = append(got, "-"+ref.Kind+" "+ref.Namespace) })
			for _, kind := range []string{"Deployment", "Rollout"} {
				w.stores[kind] = map[string]cache.Indexer{"": cache.NewIndexer(cache.MetaNamespaceKeyFunc, workloadIndexers)}
			}
			a := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			for _, step := range c.steps {
				var err error
				switch step {
				case "select":
					w.selected = cache.NewStore(cache.MetaNamespaceKeyFunc)
				case "in":
					err = w.selected.Add(a)
					w.lookAtNamespace("a")
				case "out":
					err = w.selected.Delete(a)
					w.lookAtNamespace("a")
				default:
					obj := objects[step[1:]]
					store := w.stores[obj.Kind][""]
					switch step[0] {
					case '+':
						err = store.Add(obj)
						w.handler().OnUpdate(nil, obj)
					case '-':
						err = store.Delete(obj)
						w.handler().OnDelete(cache.DeletedFinalStateUnknown{Obj: obj})
					case '!': // its event comes later
						err = store.Add(obj)
					case '~':
						w.handler().OnDelete(obj)
					}
				}
				must(t, err)
			}
			if name == "selected later" {
				slices.Sort(got)
			}
			same(t, c.reason, c.want, got)
		})
	}
}

func TestScopeOfNamespaces(t *testing.T) {
	team := labels.SelectorFromSet(labels.Set{"team": "a"})
	cases := map[string]struct {
		reason     string
		scope      Scope
		namespaces []string
		selects    bool
		fields     string
	}{
		"all":       {"the zero value", Scope{}, []string{""}, false, ""},
		"named":     {"one by one, and each once", Scope{Namespaces: []string{"b", "a", "b"}}, []string{"a", "b"}, false, ""},
		"ignored":   {"the API server leaves them out", Scope{IgnoredNamespaces: []string{"a", "b"}}, []string{""}, false, "metadata.namespace!=a,metadata.namespace!=b"},
		"both":      {"one does not take from the other", Scope{IgnoredNamespaces: []string{"a"}, NamespaceSelector: team}, []string{""}, true, "metadata.namespace!=a"},
		"all three": {"names win", Scope{Namespaces: []string{"a"}, IgnoredNamespaces: []string{"a"}, NamespaceSelector: team}, []string{"a"}, false, ""},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.namespaces, c.scope.namespaces()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
		var o metav1.ListOptions
		if c.scope.narrow(&o); o.FieldSelector != c.fields || c.scope.selects() != c.selects {
			t.Errorf("%s: fields %q, selects %t: %s", name, o.FieldSelector, c.scope.selects(), c.reason)
		}
	}
}

// TestBehind: what was handled counts by its version, and so does what was deleted.
func TestBehind(t *testing.T) {
	ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "a", Name: "web"}
	there := census{namespace: "a", versions: map[reloader.WorkloadRef]string{ref: "9"}, lists: map[string]string{"Deployment": "12"}}
	gone := census{namespace: "a", lists: map[string]string{"Deployment": "12"}}
	cases := map[string]struct {
		reason string
		known  string
		now    census
		want   []reloader.WorkloadRef
	}{
		"not known":     {"its creation was not handed on", "", there, []reloader.WorkloadRef{ref}},
		"older":         {"its change was not", "8", there, []reloader.WorkloadRef{ref}},
		"as it was":     {"numbers are compared, not texts", "9", there, nil},
		"gone":          {"its end was not handed on", "9", gone, []reloader.WorkloadRef{ref}},
		"made since":    {"it is newer than the list", "13", gone, nil},
		"not listed":    {"nothing is known of kinds that the API server does not serve", "9", census{namespace: "a"}, nil},
		"another place": {"other namespaces do not count", "9", census{namespace: "b", lists: gone.lists}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := &watcher{handled: map[reloader.WorkloadRef]string{}}
			if tc.known != "" {
				w.handled[ref] = tc.known
			}
			same(t, tc.reason, tc.want, w.behind(tc.now))
		})
	}
}

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
		"a freeze":           {[]runtime.Object{frozen}, false, "freeze: {}"},
		"nothing":            {nil, false, ""},
		"nothing, seen late": {nil, true, ""},
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
