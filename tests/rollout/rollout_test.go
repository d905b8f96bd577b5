package rollout

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// build creates a workload of each sort, with a ConfigMap of the same name, and returns how many pods they have in all.
func (s *site) build() (workloads, pods int) {
	s.T.Helper()
	for _, name := range []string{"fine", "stuck", "overtaken", "paused", "daemons", "partitioned"} {
		s.Config(name, "before")
	}
	s.deploy("fine", "fine", false, 600)
	s.deploy("stuck", "stuck", true, 2)
	s.deploy("overtaken", "overtaken", true, 600)
	s.deploy("paused", "paused", false, 600)

	like := s.like("daemons", "daemons")
	daemons := &appsv1.DaemonSet{ObjectMeta: like.ObjectMeta}
	daemons.Spec.Selector, daemons.Spec.Template = like.Spec.Selector, like.Spec.Template
	daemons.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	_, err := s.Client().AppsV1().DaemonSets(s.NS).Create(s.Ctx(), daemons, metav1.CreateOptions{})
	s.Must(err)

	two, one := int32(2), int32(1)
	like = s.like("partitioned", "partitioned")
	set := &appsv1.StatefulSet{ObjectMeta: like.ObjectMeta}
	set.Spec.Selector, set.Spec.Template, set.Spec.Replicas, set.Spec.ServiceName = like.Spec.Selector, like.Spec.Template, &two, "partitioned"
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &one},
	}
	_, err = s.Client().AppsV1().StatefulSets(s.NS).Create(s.Ctx(), set, metav1.CreateOptions{})
	s.Must(err)
	return 6, 7
}

// TestEveryEnd: what the controllers of Kubernetes make of a reload is what Reroll says of it.
func TestEveryEnd(t *testing.T) {
	s := newSite(t)
	workloads, pods := s.build()
	s.Settled(workloads)
	s.running(pods)
	s.patch("deployment/paused", `{"spec":{"paused":true}}`)
	s.open(false)
	for _, name := range []string{"fine", "stuck", "overtaken", "paused", "daemons", "partitioned"} {
		s.Edit(name, "after")
	}

	t.Log("each comes to its own end")
	fine := s.result("Deployment", "fine", "RolledOut")
	if took := fine.Rollout.EndedAt.Sub(fine.Rollout.StartedAt); took <= 0 || took > time.Minute {
		t.Errorf("it took %s to roll out", took)
	}
	s.result("Deployment", "stuck", "Stalled")
	for kind, c := range map[string]struct{ name, why string }{
		"Deployment":  {"paused", "spec.paused"},
		"DaemonSet":   {"daemons", "OnDelete"},
		"StatefulSet": {"partitioned", "partition"},
	} {
		if r := s.result(kind, c.name, "WaitingForOperator"); !strings.Contains(r.Rollout.Message, c.why) {
			t.Errorf("%s waits because %q, which does not say %s", c.name, r.Rollout.Message, c.why)
		}
	}

	t.Log("somebody goes on with what waits, mends what has stalled, and deploys in the middle of another")
	s.patch("deployment/paused", `{"spec":{"paused":false}}`)
	s.Kubectl("delete", "pods", "--selector=app=daemons", "--wait=false")
	s.patch("statefulset/partitioned", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	s.patch("deployment/overtaken", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/next"}]}}}}`)
	s.result("Deployment", "overtaken", "Overtaken")
	s.open(true)
	s.result("Deployment", "paused", "RolledOut")
	s.result("DaemonSet", "daemons", "RolledOut")
	s.result("StatefulSet", "partitioned", "RolledOut")
	s.result("Deployment", "stuck", "RolledOut")

	t.Log("the stall is an Event")
	s.AwaitThat("the Event", func() bool {
		return strings.Contains(s.Kubectl("get", "events", "--field-selector=involvedObject.name=stuck,reason=ReloadFail,type=Warning"), "has stalled: its progress deadline is exceeded")
	})
}

// TestHalt: a change whose first rollout stalls reaches nobody else, also after a restart, until somebody tries again; then everybody,
// each once.
func TestHalt(t *testing.T) {
	const workloads = 30
	s := newSite(t)
	s.Config("app", "before")
	for i := range workloads {
		s.deploy(fmt.Sprintf("web-%02d", i), "app", true, 3)
	}
	s.Settled(workloads)
	s.running(workloads)
	s.open(false)

	s.Edit("app", "broken")
	message := s.held("Halted", workloads-1)
	if !strings.HasPrefix(message, "the reload of Deployment/"+s.NS+"/web-") || !strings.Contains(message, " for ConfigMap/"+s.NS+"/app has stalled; the content before was ") {
		t.Errorf("held back with the message %q", message)
	}
	if all, _ := s.templates(); all != 1 {
		t.Errorf("%d templates were changed although the first rollout stalled, want 1", all)
	}

	t.Log("who comes after holds it, too")
	s.Restart()
	s.held("Halted", workloads-1)
	if all, _ := s.templates(); all != 1 {
		t.Errorf("%d templates were changed after the restart, want 1", all)
	}

	t.Log("another try begins with one")
	_, stalled, _ := strings.Cut(message, "the rollout of Deployment/"+s.NS+"/")
	stalled, _, _ = strings.Cut(stalled, " ")
	if out, err := s.Reroll("retry", s.NS+"/Deployment/"+stalled); err != nil || !strings.HasPrefix(out, "asked for another try of ") {
		t.Errorf("retry says %q, %v", out, err)
	}
	s.Await("templates", func(context.Context) error {
		if all, _ := s.templates(); all != 2 {
			return fmt.Errorf("%d templates were changed, not 2", all)
		}
		return nil
	})
	s.held("Halted", workloads-2)

	t.Log("what has stalled rolls out, and the rest follows")
	s.open(true)
	s.Await("templates", func(context.Context) error {
		all, twice := s.templates()
		if all != workloads || twice > 0 {
			return fmt.Errorf("%d templates were changed, %d of them more than once", all, twice)
		}
		return nil
	})
	for i := range workloads {
		s.result("Deployment", fmt.Sprintf("web-%02d", i), "RolledOut")
	}
}
