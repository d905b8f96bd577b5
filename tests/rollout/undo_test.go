package rollout

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestUndo: kubectl rollout undo puts the template back, and the annotations that its ReplicaSet had. That is one change, also in the eyes of the next
// process, and the next edit is another.
func TestUndo(t *testing.T) {
	s := newSite(t)
	s.Config("app", "before")
	s.deploy("web", "app", false, 600)
	s.Must(shared.Kube.WaitRollout(s.Ctx(), s.NS, "deployment", "web"))
	s.revision("web", 1, 1)
	s.Edit("app", "bad")
	s.revision("web", 2, 2)
	s.Must(shared.Kube.WaitRollout(s.Ctx(), s.NS, "deployment", "web"))

	s.Kubectl("rollout", "undo", "deployment/web")
	s.revision("web", 3, 2)
	s.Must(shared.Kube.WaitRollout(s.Ctx(), s.NS, "deployment", "web"))
	s.Restart()
	s.revision("web", 3, 2)

	s.Edit("app", "good")
	s.revision("web", 4, 3)
}

// revision fails the test unless a Deployment comes to rest with that revision, one for each change of its template, and that many ReplicaSets.
func (s *site) revision(name string, revision, replicaSets int) {
	s.T.Helper()
	s.Quiet()
	s.Await("the controller to count", func(context.Context) error {
		d := s.Deployment(name)
		if d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("%s is not observed", name)
		}
		if got := d.Annotations["deployment.kubernetes.io/revision"]; got != strconv.Itoa(revision) {
			return fmt.Errorf("%s has revision %s, want %d", name, got, revision)
		}
		sets, err := s.Client().AppsV1().ReplicaSets(s.NS).List(s.Ctx(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(sets.Items) != replicaSets {
			return fmt.Errorf("%d ReplicaSets, want %d", len(sets.Items), replicaSets)
		}
		return nil
	})
}
