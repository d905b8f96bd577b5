package rollout

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// site is a namespace, and a label of nodes without which pods of some workloads there do not start.
type site struct{ *line.Room }

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{line.NewRoom(t, shared)}
	s.open(true)
	t.Cleanup(func() { // what would keep controllers busy
		_, _ = shared.Kube.Kubectl(context.Background(), "--namespace="+s.NS, "delete", "deployments", "--all", "--wait=false")
	})
	return s
}

// open lets new pods of picky workloads start, or not.
func (s *site) open(open bool) {
	s.T.Helper()
	label := s.NS + "-"
	if open {
		label = s.NS + "=yes"
	}
	s.Kubectl("label", "nodes", "--all", label)
	if open {
		return
	}
	s.Await("no node takes a picky pod", func(ctx context.Context) error {
		pods := s.Client().CoreV1().Pods(s.NS)
		spec := line.Deployment(s.NS, "probe", nil).Spec.Template.Spec
		spec.NodeSelector = map[string]string{s.NS: "yes"}
		pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Spec: spec}, metav1.CreateOptions{})
		s.Must(err)
		s.AwaitThat("the scheduler to look at it", func() bool {
			pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
			s.Must(err)
			return len(pod.Status.Conditions) > 0 || pod.Spec.NodeName != ""
		})
		s.Must(pods.Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0)))
		if pod.Spec.NodeName != "" {
			return fmt.Errorf("a pod still goes to %s", pod.Spec.NodeName)
		}
		return nil
	})
}

// deploy creates a Deployment of one replica with a ConfigMap. What is picky starts where open allows it.
func (s *site) deploy(name, config string, picky bool, deadline int32) {
	s.T.Helper()
	d := line.Deployment(s.NS, name, line.Auto, line.FromConfigMap(config))
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64)
	d.Spec.ProgressDeadlineSeconds = &deadline
	if picky {
		d.Spec.Template.Spec.NodeSelector = map[string]string{s.NS: "yes"}
	}
	_, err := s.Client().AppsV1().Deployments(s.NS).Create(s.Ctx(), d, metav1.CreateOptions{})
	s.Must(err)
}

// patch changes a workload as somebody else would.
func (s *site) patch(workload, body string) {
	s.T.Helper()
	s.Kubectl("patch", workload, "--type=strategic", "--patch="+body)
}

// running waits until n pods of the namespace are ready.
func (s *site) running(n int) {
	s.T.Helper()
	s.Await("it to come to rest", func(context.Context) error {
		pods, err := s.Client().CoreV1().Pods(s.NS).List(s.Ctx(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, pod := range pods.Items {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
					ready++
				}
			}
		}
		if ready != n {
			return fmt.Errorf("%d pods are ready, not %d", ready, n)
		}
		return nil
	})
}

// templates returns how often the templates of all Deployments were changed, and how many of them more than once.
func (s *site) templates() (all, twice int) {
	s.T.Helper()
	deployments, err := s.Client().AppsV1().Deployments(s.NS).List(s.Ctx(), metav1.ListOptions{})
	s.Must(err)
	for _, d := range deployments.Items {
		revision, _ := strconv.Atoi(d.Annotations["deployment.kubernetes.io/revision"]) // a retry is an annotation, which the generation counts
		all += max(0, revision-1)
		if revision > 2 {
			twice++
		}
	}
	return all, twice
}

// reload is what the REST API says of a reload and of what followed.
type reload struct {
	Outcome string
	Rollout struct{ Result, Message string }
}

// result waits until the only reload of a Deployment came to that, and returns it.
func (s *site) result(name, want string) (found reload) {
	s.T.Helper()
	s.Await(want+" of "+name, func(ctx context.Context) error {
		query := url.Values{"namespace": {s.NS}, "name": {name}, "limit": {"500"}}
		var page struct{ Items []reload }
		if err := shared.Reroll.Get(ctx, "/api/v1/reloads?"+query.Encode(), &page); err != nil {
			return err
		}
		if len(page.Items) != 1 || page.Items[0].Outcome != "Reloaded" || page.Items[0].Rollout.Result != want {
			return fmt.Errorf("the reloads are %+v", page.Items)
		}
		found = page.Items[0]
		return nil
	})
	return found
}

// held waits until n Deployments are held back for a reason, and returns the message of one.
func (s *site) held(reason string, n int) (message string) {
	s.T.Helper()
	s.Await("it to come to rest", func(context.Context) error {
		query := url.Values{"namespace": {s.NS}, "limit": {"500"}}
		var page struct {
			Items []struct{ Hold line.Hold }
		}
		if err := shared.Reroll.Get(s.Ctx(), "/api/v1/workloads?"+query.Encode(), &page); err != nil {
			return err
		}
		count := 0
		for _, w := range page.Items {
			if w.Hold.Reason == reason {
				count, message = count+1, w.Hold.Message
			}
		}
		if count != n {
			return fmt.Errorf("%d are held back for %s, not %d", count, reason, n)
		}
		return nil
	})
	return message
}

// shared is the line of all tests, each of which has a namespace of its own there.
var shared *line.Line

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=100ms", "--set=rolloutLimits.haltOnFailure=true"},
	}, nil)
}
