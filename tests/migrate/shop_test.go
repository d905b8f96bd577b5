package migrate_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// shop is a namespace with running pods whose workloads another tool has marked.
type shop struct{ *line.Room }

// newShop returns a shop whose pods all run, or have succeeded if they are a Job's.
func newShop(t *testing.T, marks string) shop {
	t.Helper()
	s := shop{line.NewRoom(t, shared)}
	manifest, err := os.ReadFile("testdata/shop-" + marks + ".yaml")
	s.Must(err)
	s.KubectlWith(strings.ReplaceAll(string(manifest), "NAMESPACE", s.NS), "apply", "--filename=-")
	for _, workload := range []string{"deployment/web", "statefulset/store", "daemonset/agent", "deployment/seen", "deployment/missed"} {
		s.Kubectl("rollout", "status", workload, "--timeout=4m")
	}
	s.Kubectl("wait", "--for=condition=Complete", "--timeout=4m", "job/once")
	return s
}

// look returns the pods and Jobs of each app, by name and UID.
func (s shop) look() map[string][]string {
	s.T.Helper()
	found := map[string][]string{}
	pods, err := s.Client().CoreV1().Pods(s.NS).List(s.Ctx(), metav1.ListOptions{})
	s.Must(err)
	for _, p := range pods.Items {
		found[p.Labels["app"]] = append(found[p.Labels["app"]], fmt.Sprintf("pod %s %s %s", p.Name, p.UID, p.Status.Phase))
	}
	jobs, err := s.Client().BatchV1().Jobs(s.NS).List(s.Ctx(), metav1.ListOptions{})
	s.Must(err)
	for _, j := range jobs.Items {
		found["jobs"] = append(found["jobs"], fmt.Sprintf("Job %s %s", j.Name, j.UID))
	}
	for app := range found {
		slices.Sort(found[app])
	}
	return found
}

// expectKept checks that the pods and Jobs are those of before, except for some apps.
func (s shop) expectKept(before map[string][]string, except ...string) {
	s.T.Helper()
	now := s.look()
	if len(now["web"]) != 2 || len(now["store"]) != 2 || len(now["agent"]) != 1 || len(now["jobs"]) != 1 {
		s.T.Errorf("there are %v", now)
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
		s.T.Errorf("something was restarted (-before +now):\n%s", diff)
	}
}

// edit gives a ConfigMap another content.
func (s shop) edit(name, value string) {
	s.T.Helper()
	s.Kubectl("patch", "configmap/"+name, "--patch", fmt.Sprintf(`{"data":{"a":%q}}`, value))
}

// roll rolls a Deployment as Stakater Reloader would for a content of the ConfigMap of its name.
func (s shop) roll(name, value string) {
	s.T.Helper()
	hash := scenario.StakaterHash("a=" + value)
	template := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","env":[{"name":"STAKATER_%s_CONFIGMAP","value":"%s"}]}]}}`, strings.ToUpper(name), hash)
	s.Kubectl("patch", "deployment/"+name, "--type=strategic", "--field-manager=Reloader", "--patch", `{"spec":{"template":`+template+`}}`)
	s.awaitPods(name)
}

// awaitPods waits until the newest template of a Deployment runs in all its pods, and no others are left.
func (s shop) awaitPods(name string) {
	s.T.Helper()
	s.Must(shared.Kube.WaitRollout(s.Ctx(), s.NS, "deployment", name))
}

// generation is that of a Deployment.
func (s shop) generation(name string) int64 { return s.Deployment(name).Generation }

// awaitReload waits until a Deployment was reloaded n times with an outcome.
func (s shop) awaitReload(name, outcome string, n int) {
	s.T.Helper()
	s.Await(fmt.Sprintf("%d reloads of %s that are %s", n, name, outcome), func(context.Context) error {
		found, all := 0, []string{}
		for _, r := range s.Reloads(name, 0) {
			if all = append(all, r.Outcome); r.Outcome == outcome {
				found++
			}
		}
		if found != n {
			return fmt.Errorf("there are %q", all)
		}
		return nil
	})
}
