package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestUndo: kubectl rollout undo puts the template back, and the annotations that its ReplicaSet had. That is one change, also in the eyes of the next
// process, and the next edit is another.
func TestUndo(t *testing.T) {
	s := newSite(t)
	s.config("app")
	s.deploy("web", "app", false, 600)
	s.must(shared.Kube.WaitRollout(s.ctx, s.ns, "deployment", "web"))
	s.revision("web", 1, 1)
	s.edit("app", "bad")
	s.revision("web", 2, 2)
	s.must(shared.Kube.WaitRollout(s.ctx, s.ns, "deployment", "web"))

	_, err := shared.Kube.Kubectl(s.ctx, "--namespace="+s.ns, "rollout", "undo", "deployment/web")
	s.must(err)
	s.revision("web", 3, 2)
	s.must(shared.Kube.WaitRollout(s.ctx, s.ns, "deployment", "web"))
	s.must(shared.Reroll.Terminate(s.ctx))
	s.must(shared.Reroll.Start())
	s.must(shared.Reroll.WaitReady(s.ctx))
	s.revision("web", 3, 2)

	s.edit("app", "good")
	s.revision("web", 4, 3)
}

// revision fails the test unless a Deployment comes to rest with that revision, one for each change of its template, and that many ReplicaSets.
func (s *site) revision(name string, revision, replicaSets int) {
	s.t.Helper()
	s.must(shared.Barrier(s.ctx, s.ns))
	s.await(func() error { // its controller counts a little later
		d, err := s.client.AppsV1().Deployments(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("%s is not observed", name)
		}
		if got := d.Annotations["deployment.kubernetes.io/revision"]; got != strconv.Itoa(revision) {
			return fmt.Errorf("%s has revision %s, want %d", name, got, revision)
		}
		sets, err := s.client.AppsV1().ReplicaSets(s.ns).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var names []string
		for _, set := range sets.Items {
			names = append(names, set.Name)
		}
		if len(names) != replicaSets {
			return fmt.Errorf("ReplicaSets %s, want %d", strings.Join(names, ", "), replicaSets)
		}
		return nil
	})
}
