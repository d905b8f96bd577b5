package admission

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// many is of how many objects a larger application consists.
const many = 30

// TestMuchTogether: of a release with many objects, of which the workload is the last, both are one change as long as they are written within
// the quiet window.
func TestMuchTogether(t *testing.T) {
	s := newSite(t)
	all := func(content, image string) string {
		var parts []string
		for i := range many - 2 {
			parts = append(parts, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-%d}\ndata: {key: %q}\n", i, content))
		}
		parts = append(parts, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {key: %q}\n", content), manifest("", "web", "app", image, auto))
		return s.file("all.yaml", strings.Join(parts, "---\n"))
	}
	s.apply("client", all("one", "1"))
	s.settled("web")
	s.apply("client", all("two", "2"))
	if diff := cmp.Diff([]string{"Reloaded"}, s.outcomes("web", 1)); diff != "" {
		t.Errorf("what Reroll makes of it (-want +got):\n%s", diff)
	}
	if n := s.replicaSets("web"); n != 2 {
		t.Errorf("%d ReplicaSets, want 2", n)
	}
}

// TestWorkloadFirst: anyone who writes the workload and then its config lets it roll twice: when the webhook was asked, the content was the old one,
// and pods have started with it.
func TestWorkloadFirst(t *testing.T) {
	s := newSite(t)
	s.apply("client", s.configFile("app", "one"), s.deploymentFile("web", "app", "1", auto))
	s.settled("web")
	s.apply("client", s.deploymentFile("web", "app", "2", auto), s.configFile("app", "two"))
	if diff := cmp.Diff([]string{"Reloaded"}, s.outcomes("web", 1)); diff != "" {
		t.Errorf("what Reroll makes of it (-want +got):\n%s", diff)
	}
	if n := s.replicaSets("web"); n != 3 {
		t.Errorf("%d ReplicaSets, want 3", n)
	}
}

// TestUnregistered: while nobody asks the webhook and the dispatcher lives, a config and a workload that change together are rolled by it once
// more at most.
func TestUnregistered(t *testing.T) {
	s := newSite(t)
	s.apply("client", s.configFile("app", "one"), s.deploymentFile("web", "app", "1", auto))
	s.settled("web")
	client := s.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	was, err := client.Get(s.ctx, configuration, metav1.GetOptions{})
	s.must(err)
	s.must(client.Delete(s.ctx, configuration, metav1.DeleteOptions{}))
	defer func() {
		was.ObjectMeta = metav1.ObjectMeta{Name: was.Name, Annotations: was.Annotations, Labels: was.Labels}
		_, err := client.Create(s.ctx, was, metav1.CreateOptions{})
		s.must(err)
		s.answering()
	}()
	s.await(func() error { // the API server hears of it a moment later
		if strings.Contains(s.probed(), "STAKATER_PROBE_CONFIGMAP") {
			return errors.New("the webhook is still asked")
		}
		return nil
	})
	s.apply("client", s.configFile("app", "two"), s.deploymentFile("web", "app", "2", auto))
	s.outcomes("web", 1)
	if n := s.replicaSets("web"); n > 3 {
		t.Errorf("%d ReplicaSets, want one for the image, and one more at most", n)
	}
	if s.mark("web", "app") == "" {
		t.Error("nobody has marked it")
	}
}
