package kube

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func metaInfo() MetaInfo {
	return MetaInfo{
		Build:      BuildInfo{GoVersion: "go1.26", ReleaseVersion: "v1", CommitHash: "abc", CommitTime: noon, Edition: "oss"},
		Options:    map[string]any{"reloadOnCreate": "false", "namespacesToIgnore": []string{"a"}, "enableHA": true},
		Deployment: DeploymentInfo{Name: "reroll", Namespace: "ops"},
	}
}

func verbs(client *fake.Clientset) []string {
	var list []string
	for _, a := range client.Actions() {
		list = append(list, a.GetVerb())
	}
	client.ClearActions()
	return list
}

func TestWriteMetaInfo(t *testing.T) {
	client := fake.NewClientset()
	c := &Cluster{client: client, Namespace: "elsewhere"}
	write := func(info MetaInfo, want ...string) {
		t.Helper()
		if err := c.WriteMetaInfo(t.Context(), info); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, verbs(client)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
	write(metaInfo(), "get", "create")
	write(metaInfo(), "get")
	changed := metaInfo()
	changed.Build.CommitTime = noon.Add(time.Hour)
	write(changed, "get", "update")

	stored, err := client.CoreV1().ConfigMaps("ops").Get(t.Context(), "reloader-meta-info", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"buildInfo":       `{"goVersion":"go1.26","releaseVersion":"v1","commitHash":"abc","commitTime":"2026-01-02T13:00:00Z","edition":"oss"}`,
		"reloaderOptions": `{"enableHA":true,"namespacesToIgnore":["a"],"reloadOnCreate":"false"}`,
		"deploymentInfo":  `{"name":"reroll","namespace":"ops"}`,
	}
	if diff := cmp.Diff(want, stored.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if stored.Labels["reloader.stakater.com/meta-info"] != "reloader" || stored.Labels["app.kubernetes.io/managed-by"] != "reroll" {
		t.Errorf("labels: %v", stored.Labels)
	}
}

func TestWriteMetaInfoInDryRun(t *testing.T) {
	client := fake.NewClientset()
	if err := (&Cluster{client: client, options: Options{DryRun: true}}).WriteMetaInfo(t.Context(), metaInfo()); err != nil {
		t.Fatal(err)
	}
	if got := verbs(client); got != nil {
		t.Errorf("a dry run made requests: %v", got)
	}
}

func TestWriteMetaInfoTakesOver(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: MetaInfoName, Namespace: "ops", Labels: map[string]string{"reloader.stakater.com/meta-info": "reloader", "team": "a"},
	}, Data: map[string]string{"buildInfo": "{}", "old": "x"}})
	info := metaInfo()
	info.Deployment.Namespace = ""
	if err := (&Cluster{client: client, Namespace: "ops"}).WriteMetaInfo(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	stored, err := client.CoreV1().ConfigMaps("ops").Get(t.Context(), MetaInfoName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"reloader.stakater.com/meta-info": "reloader", "team": "a", "app.kubernetes.io/managed-by": "reroll"}
	if diff := cmp.Diff(want, stored.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if _, left := stored.Data["old"]; left || stored.Data["deploymentInfo"] != `{"name":"reroll","namespace":"ops"}` {
		t.Errorf("data: %v", stored.Data)
	}
}

func TestWriteMetaInfoBesideAnotherReplica(t *testing.T) {
	faster := map[string]error{
		"create": apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, MetaInfoName),
		"update": apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, MetaInfoName, nil),
	}
	for verb, failure := range faster {
		t.Run(verb, func(t *testing.T) {
			client := fake.NewClientset()
			if verb == "update" {
				client = fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: MetaInfoName, Namespace: "ops"}})
			}
			failed := false
			client.PrependReactor(verb, "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				if failed {
					return false, nil, nil
				}
				failed = true
				return true, nil, failure
			})
			if err := (&Cluster{client: client}).WriteMetaInfo(t.Context(), metaInfo()); err != nil {
				t.Fatal(err)
			}
			if got := verbs(client); !slices.Equal(got, []string{"get", verb, "get", verb}) {
				t.Errorf("requests: %v", got)
			}
		})
	}
}

// What we wrote is no trace of another reloader; what another one left is.
func TestMetaInfoTrace(t *testing.T) {
	ours, err := metaInfo().configMap()
	if err != nil {
		t.Fatal(err)
	}
	selector := traces[len(traces)-1].selector
	for name, test := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"ours":      {ours.Labels, false},
		"another's": {map[string]string{"reloader.stakater.com/meta-info": "reloader"}, true},
		"helm's":    {map[string]string{"reloader.stakater.com/meta-info": "reloader", "app.kubernetes.io/managed-by": "Helm"}, true},
		"nobody's":  {map[string]string{"app.kubernetes.io/managed-by": "Helm"}, false},
	} {
		if got := matches(t, selector, test.labels); got != test.want {
			t.Errorf("%s: a trace: %t, want %t", name, got, test.want)
		}
	}
}

func matches(t *testing.T, selector string, set map[string]string) bool {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Matches(labels.Set(set))
}
