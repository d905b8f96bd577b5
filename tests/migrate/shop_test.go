package migrate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// shop is a namespace with running pods whose workloads Stakater Reloader has marked.
type shop struct{ namespace, strategy string }

// newShop returns a shop whose pods all run, or have succeeded if they are a Job's.
func newShop(t *testing.T, strategy string) shop {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	s := shop{namespace: shared.Kube.Namespace(t), strategy: strategy}
	manifest, err := os.ReadFile("testdata/shop-" + strategy + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	apply := shared.Kube.Command(ctx, "apply", "--namespace="+s.namespace, "--filename=-")
	apply.Stdin = strings.NewReader(strings.ReplaceAll(string(manifest), "NAMESPACE", s.namespace))
	if output, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, workload := range []string{"deployment/web", "statefulset/store", "daemonset/agent", "deployment/seen", "deployment/missed"} {
		kind, name, _ := strings.Cut(workload, "/")
		if err := shared.Kube.WaitRollout(ctx, s.namespace, kind, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shared.Kube.Kubectl(ctx, "wait", "--namespace="+s.namespace, "--for=condition=Complete", "--timeout=120s", "job/once"); err != nil {
		t.Fatal(err)
	}
	return s
}

// look returns the pods and Jobs of each app, by name and UID.
func (s shop) look(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	pods, err := shared.Kube.Client().CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		found[p.Labels["app"]] = append(found[p.Labels["app"]], fmt.Sprintf("pod %s %s %s", p.Name, p.UID, p.Status.Phase))
	}
	jobs, err := shared.Kube.Client().BatchV1().Jobs(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs.Items {
		found["jobs"] = append(found["jobs"], fmt.Sprintf("Job %s %s", j.Name, j.UID))
	}
	for app := range found {
		slices.Sort(found[app])
	}
	return found
}

// expectKept checks that the pods and Jobs are those of before, except for some apps.
func (s shop) expectKept(t *testing.T, before map[string][]string, except ...string) {
	t.Helper()
	now := s.look(t)
	if len(now["web"]) != 2 || len(now["store"]) != 2 || len(now["agent"]) != 1 || len(now["jobs"]) != 1 {
		t.Errorf("there are %v", now)
	}
	unless := func(apps map[string][]string) map[string][]string {
		left := map[string][]string{}
		for app, objects := range apps {
			if !slices.Contains(except, app) {
				left[app] = objects
			}
		}
		return left
	}
	if diff := cmp.Diff(unless(before), unless(now)); diff != "" {
		t.Errorf("something was restarted (-before +now):\n%s", diff)
	}
}

// edit gives a ConfigMap another content.
func (s shop) edit(t *testing.T, name, value string) {
	t.Helper()
	_, err := shared.Kube.Client().CoreV1().ConfigMaps(s.namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"data":{"a":%q}}`, value), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// roll rolls a Deployment as Stakater Reloader would for a content of the ConfigMap of its name.
func (s shop) roll(t *testing.T, name, value string) {
	t.Helper()
	hash := scenario.StakaterHash("a=" + value)
	template := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","env":[{"name":"STAKATER_%s_CONFIGMAP","value":"%s"}]}]}}`, strings.ToUpper(name), hash)
	if s.strategy == "annotations" {
		from := fmt.Sprintf(`{"type":"CONFIGMAP","name":"%s","namespace":"%s","hash":"%s","containerRefs":["main"],"observedAt":%d}`,
			name, s.namespace, hash, time.Now().Unix())
		text, err := json.Marshal(from)
		if err != nil {
			t.Fatal(err)
		}
		template = fmt.Sprintf(`{"metadata":{"annotations":{"reloader.stakater.com/last-reloaded-from":%s}}}`, text)
	}
	_, err := shared.Kube.Client().AppsV1().Deployments(s.namespace).Patch(t.Context(), name, types.StrategicMergePatchType,
		fmt.Appendf(nil, `{"spec":{"template":%s}}`, template), metav1.PatchOptions{FieldManager: "Reloader"})
	if err != nil {
		t.Fatal(err)
	}
	s.awaitPods(t, name)
}

// awaitPods waits until the newest template of a Deployment runs in all its pods, and no others are left.
func (s shop) awaitPods(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	if err := shared.Kube.WaitRollout(ctx, s.namespace, "deployment", name); err != nil {
		t.Fatal(err)
	}
}

// generation is that of a Deployment.
func (s shop) generation(t *testing.T, name string) int64 {
	t.Helper()
	d, err := shared.Kube.Client().AppsV1().Deployments(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Generation
}

// awaitReload waits until a Deployment was reloaded n times with an outcome.
func (s shop) awaitReload(t *testing.T, name, outcome string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := shared.Reroll.Reloads(ctx, s.namespace)
		if err != nil {
			return err
		}
		found, all := 0, []string{}
		for _, r := range reloads {
			if r.Workload.Name == name && r.Outcome == outcome {
				found++
			}
			all = append(all, r.Workload.Name+" "+r.Outcome)
		}
		if found != n {
			return fmt.Errorf("%s has %d reloads that are %s, want %d; there are %q", name, found, outcome, n, all)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
