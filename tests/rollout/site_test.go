package rollout

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/line"
)

// site is a namespace, and a label of nodes without which pods of some workloads there do not start.
type site struct {
	t      *testing.T
	ctx    context.Context
	client kubernetes.Interface
	ns     string
}

const testTime = 5 * time.Minute

func newSite(t *testing.T) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, client: shared.Kube.Client(), ns: shared.Kube.Namespace(t)}
	s.open(true)
	t.Cleanup(s.clear)
	return s
}

// clear deletes what would keep controllers busy.
func (s *site) clear() {
	all := metav1.ListOptions{}
	for _, err := range []error{
		s.client.AppsV1().Deployments(s.ns).DeleteCollection(context.Background(), metav1.DeleteOptions{}, all),
		s.client.AppsV1().StatefulSets(s.ns).DeleteCollection(context.Background(), metav1.DeleteOptions{}, all),
		s.client.AppsV1().DaemonSets(s.ns).DeleteCollection(context.Background(), metav1.DeleteOptions{}, all),
	} {
		if err != nil {
			s.t.Logf("clear %s: %v", s.ns, err)
		}
	}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		log := shared.Reroll.Log()
		s.t.Fatalf("%v\nreroll's log:\n%s", err, log[max(0, len(log)-4000):])
	}
}

// await waits until check returns nil.
func (s *site) await(check func() error) {
	s.t.Helper()
	s.must(line.Poll(s.ctx, func(context.Context) error { return check() }))
}

// open lets new pods of picky workloads start, or not.
func (s *site) open(open bool) {
	s.t.Helper()
	label := "null"
	if open {
		label = `"yes"`
	}
	nodes, err := s.client.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{})
	s.must(err)
	for _, node := range nodes.Items {
		_, err := s.client.CoreV1().Nodes().Patch(s.ctx, node.Name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, s.ns, label), metav1.PatchOptions{})
		s.must(err)
	}
	if !open {
		s.await(s.probe)
	}
}

// probe creates a picky pod, and fails unless the scheduler knows of no node for it.
func (s *site) probe() error {
	pods := s.client.CoreV1().Pods(s.ns)
	_, template := s.template("probe", "probe")
	template.Spec.NodeSelector = map[string]string{s.ns: "yes"}
	template.Spec.Containers[0].EnvFrom = nil
	pod, err := pods.Create(s.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Spec: template.Spec}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	err = line.Poll(s.ctx, func(context.Context) error {
		if pod, err = pods.Get(s.ctx, pod.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled {
				return nil
			}
		}
		return fmt.Errorf("pod %s is not looked at yet", pod.Name)
	})
	if err != nil {
		return err
	}
	node := pod.Spec.NodeName
	if err := pods.Delete(s.ctx, pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
		return err
	}
	if node != "" {
		return fmt.Errorf("a pod still goes to %s", node)
	}
	return nil
}

// meta names a workload that asks for reloads.
func (s *site) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: s.ns, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}}
}

// template returns the pod template of a workload that uses a ConfigMap, and its selector.
func (s *site) template(name, config string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": name}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main", EnvFrom: []corev1.EnvFromSource{{
				ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}},
			}}}},
		},
	}
}

func (s *site) config(name string) {
	s.t.Helper()
	_, err := s.client.CoreV1().ConfigMaps(s.ns).Create(s.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "before"},
	}, metav1.CreateOptions{})
	s.must(err)
}

// edit gives a ConfigMap new content.
func (s *site) edit(name, value string) {
	s.t.Helper()
	_, err := s.client.CoreV1().ConfigMaps(s.ns).Patch(s.ctx, name, types.MergePatchType,
		fmt.Appendf(nil, `{"data":{"k":%q}}`, value), metav1.PatchOptions{})
	s.must(err)
}

// deploy creates a Deployment of one replica. What is picky starts where open allows it.
func (s *site) deploy(name, config string, picky bool, deadline int32) {
	s.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: s.meta(name)}
	d.Spec.Selector, d.Spec.Template = s.template(name, config)
	d.Spec.ProgressDeadlineSeconds = &deadline
	if picky {
		d.Spec.Template.Spec.NodeSelector = map[string]string{s.ns: "yes"}
	}
	_, err := s.client.AppsV1().Deployments(s.ns).Create(s.ctx, d, metav1.CreateOptions{})
	s.must(err)
}

// patch changes a workload as somebody else would.
func (s *site) patch(resource, name, body string) {
	s.t.Helper()
	s.must(s.client.AppsV1().RESTClient().Patch(types.StrategicMergePatchType).Namespace(s.ns).Resource(resource).Name(name).
		Body([]byte(body)).Do(s.ctx).Error())
}

// running waits until n pods of the namespace are ready.
func (s *site) running(n int) {
	s.t.Helper()
	s.await(func() error {
		pods, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
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

// events returns the Events about a workload that have a reason.
func (s *site) events(name, reason string) []corev1.Event {
	s.t.Helper()
	events, err := s.client.CoreV1().Events(s.ns).List(s.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + reason})
	s.must(err)
	return events.Items
}

// templates returns how often the templates of all Deployments were changed, and how many of them more than once.
func (s *site) templates() (all, twice int) {
	s.t.Helper()
	deployments, err := s.client.AppsV1().Deployments(s.ns).List(s.ctx, metav1.ListOptions{})
	s.must(err)
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
	ID, Outcome string
	Rollout     struct {
		Result, Message    string
		StartedAt, EndedAt time.Time
	}
}

func (s *site) reloads(kind, name string) ([]reload, error) {
	query := url.Values{"namespace": {s.ns}, "kind": {kind}, "name": {name}, "limit": {"500"}}
	var page struct{ Items []reload }
	err := shared.Reroll.Get(s.ctx, "/api/v1/reloads?"+query.Encode(), &page)
	return page.Items, err
}

// result waits until the only reload of a workload came to that, and returns it.
func (s *site) result(kind, name, want string) reload {
	s.t.Helper()
	var found reload
	s.await(func() error {
		reloads, err := s.reloads(kind, name)
		if err != nil {
			return err
		}
		if len(reloads) != 1 || reloads[0].Outcome != "Reloaded" || reloads[0].Rollout.Result != want {
			return fmt.Errorf("%s %s has the reloads %+v, not one that is %s", kind, name, reloads, want)
		}
		found = reloads[0]
		return nil
	})
	return found
}

// exceeded returns when the Deployment controller said that the progress deadline of a Deployment is over, to the second.
func (s *site) exceeded(name string) time.Time {
	s.t.Helper()
	deployment, err := s.client.AppsV1().Deployments(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	for _, c := range deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
			return c.LastTransitionTime.Time
		}
	}
	s.t.Fatalf("Deployment %s has the conditions %+v, none of which says that its progress deadline is exceeded", name, deployment.Status.Conditions)
	return time.Time{}
}

// settled waits until Reroll knows what n workloads of the namespace were brought to.
func (s *site) settled(n int) {
	s.t.Helper()
	s.await(func() error {
		names, open, err := shared.Reroll.Settled(s.ctx, s.ns)
		if err != nil {
			return err
		}
		if len(names) != n || open > 0 {
			return fmt.Errorf("%d workloads have their baselines and %d have not, of %d", len(names), open, n)
		}
		return nil
	})
}

// held waits until n Deployments are held back for a reason, and returns the message of one.
func (s *site) held(reason string, n int) (message string) {
	s.t.Helper()
	s.await(func() error {
		query := url.Values{"namespace": {s.ns}, "limit": {"500"}}
		var page struct {
			Items []struct{ Hold line.Hold }
		}
		if err := shared.Reroll.Get(s.ctx, "/api/v1/workloads?"+query.Encode(), &page); err != nil {
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

// operate runs a subcommand of the real binary.
func (s *site) operate(args ...string) string {
	s.t.Helper()
	binary, err := line.Build(s.ctx)
	s.must(err)
	out, err := exec.CommandContext(s.ctx, binary, append(args, "--kubeconfig", shared.Kube.Kubeconfig())...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("reroll %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
