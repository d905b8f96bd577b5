package admission

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	wave   = "wave.pusher.com/update-on-config-change"
	nobody = "wave.pusher.com/invalid"
	says   = "wave.pusher.com/scheduling-disabled"
)

// pods returns the pods of a workload that are not going away.
func (s *site) pods(name string) []corev1.Pod {
	s.t.Helper()
	list, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	s.must(err)
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// waiting waits until a workload has a pod, and fails the test unless that is one that no scheduler serves and that says for what it waits.
func (s *site) waiting(name, waitsFor string) {
	s.t.Helper()
	s.await(func() error {
		if len(s.pods(name)) == 0 {
			return errors.New("there is no pod yet")
		}
		return nil
	})
	for _, p := range s.pods(name) {
		if p.Spec.SchedulerName != nobody || p.Spec.NodeName != "" || p.Annotations["reroll.dev/waits-for"] != waitsFor {
			s.t.Errorf("pod %s has the scheduler %q, is on node %q and waits for %q", p.Name, p.Spec.SchedulerName, p.Spec.NodeName, p.Annotations["reroll.dev/waits-for"])
		}
	}
}

// running waits until every pod of a workload is on a node, and says that it waits for nothing.
func (s *site) running(name string) {
	s.t.Helper()
	s.await(func() error {
		pods := s.pods(name)
		for _, p := range pods {
			if p.Spec.SchedulerName != "default-scheduler" || p.Spec.NodeName == "" || p.Annotations["reroll.dev/waits-for"] != "" {
				return fmt.Errorf("pod %s has the scheduler %q and is on node %q", p.Name, p.Spec.SchedulerName, p.Spec.NodeName)
			}
		}
		if len(pods) == 0 {
			return errors.New("there is no pod")
		}
		return nil
	})
}

// TestScheduling: pods of Wave's workloads that come before their config wait unscheduled, with the real scheduler, and are scheduled as soon
// as it is there; so that one change of the template is all there is. What changes then rolls once.
func TestScheduling(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	deployment := s.deploymentFile("web", "app", "1", wave)
	s.apply("client", deployment)
	daemon := strings.Replace(manifest(s.ns, "daemon", "app", "1", wave), "kind: Deployment", "kind: DaemonSet", 1)
	set := strings.Replace(manifest(s.ns, "set", "app", "1", wave), "kind: Deployment", "kind: StatefulSet", 1)
	s.apply("client", s.file("workload.yaml", daemon),
		s.file("workload.yaml", strings.Replace(set, "spec:\n", "spec:\n  serviceName: set\n  podManagementPolicy: Parallel\n", 1)))
	missing := "ConfigMap/" + s.ns + "/app"
	for _, name := range []string{"web", "daemon", "set"} {
		s.waiting(name, missing)
	}
	s.await(func() error {
		hold, err := shared.Reroll.Hold(s.ctx, s.ns, "web")
		if err == nil && (hold.Reason != "MissingConfig" || hold.Message != "missing: "+missing) {
			err = fmt.Errorf("it is held as %+v", hold)
		}
		return err
	})
	for _, how := range [][]string{{"replace"}, {"apply"}, {"apply", "--server-side", "--force-conflicts", "--field-manager=argocd-controller"}} {
		s.kubectl(append(how, "--namespace="+s.ns, "-f", deployment)...)
		s.waiting("web", missing)
	}
	s.apply("client", s.configFile("app", "one"))
	for _, name := range []string{"web", "daemon", "set"} {
		s.running(name)
	}
	web := s.deployment("web")
	if mark := web.Spec.Template.Annotations["wave.pusher.com/config-hash"]; len(mark) != 64 || web.Annotations[says] != "" {
		t.Errorf("let go, its mark is %q, and its annotations are %v", mark, web.Annotations)
	}
	if n := s.replicaSets("web"); n != 2 {
		t.Errorf("%d ReplicaSets, want the one that was held and the one that runs", n)
	}
	s.apply("client", s.configFile("app", "two"))
	s.await(func() error {
		if outcomes := s.outcomes("web", 1); outcomes[len(outcomes)-1] != "Reloaded" {
			return fmt.Errorf("Reroll makes %v of it", outcomes)
		}
		return nil
	})
	if n := s.replicaSets("web"); n != 3 {
		t.Errorf("%d ReplicaSets after a change, want 3", n)
	}
}

// TestSchedulingOptOut: who opts out while something is missing is scheduled at once, and who is created with everything there, or whose pods
// start one after the other, is never held.
func TestSchedulingOptOut(t *testing.T) {
	s := newSite(t)
	s.apply("client", s.deploymentFile("web", "app", "1", wave))
	s.waiting("web", "ConfigMap/"+s.ns+"/app")
	s.kubectl("annotate", "--namespace="+s.ns, "deployment/web", wave+"-")
	s.running("web")

	set := strings.Replace(manifest(s.ns, "set", "app", "1", wave), "kind: Deployment", "kind: StatefulSet", 1)
	s.apply("client", s.file("workload.yaml", strings.Replace(set, "spec:\n", "spec:\n  serviceName: set\n", 1)))
	s.running("set")
	s.apply("client", s.configFile("app", "one"), s.deploymentFile("there", "app", "1", wave))
	s.running("there")
	if n := s.replicaSets("there"); n != 1 {
		t.Errorf("%d ReplicaSets, want 1", n)
	}
}

// heldByWave is what Wave leaves of a Deployment whose config is missing.
func heldByWave(ns, name string) string {
	text := manifest(ns, name, "late", "1", wave)
	text = strings.Replace(text, "  annotations:\n", "  annotations:\n    "+says+": default-scheduler\n", 1)
	return strings.Replace(text, "      terminationGracePeriodSeconds", "      schedulerName: "+nobody+"\n      terminationGracePeriodSeconds", 1)
}

// TestSchedulingOfWave: what Wave has held and has left so is let go, when its config comes; and while nobody runs, by a command, which
// touches nobody else.
func TestSchedulingOfWave(t *testing.T) {
	s := newSite(t)
	s.apply("client", s.file("held.yaml", heldByWave(s.ns, "web")))
	s.await(func() error {
		if len(s.pods("web")) == 0 {
			return errors.New("there is no pod yet")
		}
		return nil
	})
	s.apply("client", s.configFile("late", "one"))
	s.running("web")

	binary, err := line.Build(s.ctx)
	s.must(err)
	shared.Reroll.Kill()
	defer s.back()
	s.kubectl("delete", "--namespace="+s.ns, "configmap/late")
	s.apply("client", s.file("held.yaml", heldByWave(s.ns, "left")), s.file("other.yaml", strings.Replace(manifest(s.ns, "other", "app", "1"), "      terminationGracePeriodSeconds", "      schedulerName: other\n      terminationGracePeriodSeconds", 1)))
	before := s.deployment("other")
	for _, want := range []string{"Deployment/" + s.ns + "/left: its pods are scheduled again\n1 workloads let go\n", "0 workloads let go\n"} {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(s.ctx, binary, "release-scheduling", "--kubeconfig", shared.Kube.Kubeconfig(), "--namespace", s.ns)
		cmd.Stderr = &stderr
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("it says %q, want %q: %v %s", out, want, err, stderr.Bytes())
		}
	}
	s.running("left")
	if after := s.deployment("other"); after.Generation != before.Generation {
		t.Errorf("somebody else was written: %+v", after.Spec)
	}
}

// back starts Reroll again, and waits until it answers.
func (s *site) back() {
	s.t.Helper()
	s.must(shared.Reroll.Start())
	s.must(shared.Reroll.WaitReady(s.ctx))
	s.answering()
}
