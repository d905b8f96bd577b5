package admission

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const sapHash = "pod-reloader.cs.sap.com/config-hash"

// expected returns the hash that pod-reloader computes for a workload that lists a ConfigMap.
func (s *site) expected(name string) string {
	s.t.Helper()
	c, err := s.client.CoreV1().ConfigMaps(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	sum := sha256.Sum256(fmt.Appendf(nil, "configmap/%s/%s/%s.%s\n", s.ns, name, c.UID, c.ResourceVersion))
	return hex.EncodeToString(sum[:])
}

// expect writes the hash that it expects on a Deployment, and returns what the API server says of it.
func (s *site) expect(name, hash string) (string, error) {
	s.t.Helper()
	says, err := shared.Kube.Command(s.ctx, "annotate", "--namespace="+s.ns, "--overwrite", "deployment/"+name, sapHash+"="+hash).CombinedOutput()
	return string(says), err
}

// TestTokenOfSAP: whoever asks for a roll by the hash that they expect, as SAP's pod-reloader and its users do, gets one roll if it is that of the
// configs, and none if it is not: then they get a warning, or a refusal where the installation says so. None stays on the workload.
func TestTokenOfSAP(t *testing.T) {
	s := newSite(t)
	web := strings.Replace(manifest(s.ns, "web", "app", "1", "tool"), `tool: "true"`, "pod-reloader.cs.sap.com/configmaps: app", 1)
	s.apply("client", s.configFile("app", "one"), s.file("deployment.yaml", web))
	s.settled("web")
	first, stale := s.deployment("web"), s.expected("app")
	spent := func(when string) {
		t.Helper()
		if token := s.deployment("web").Annotations[sapHash]; token != "" {
			t.Errorf("%s, the hash %q is left on the workload", when, token)
		}
	}
	says, err := s.expect("web", stale)
	s.must(err)
	spent("where nothing is new")
	if diff := cmp.Diff(first.Spec, s.deployment("web").Spec); diff != "" || strings.Contains(says, "Warning") {
		t.Errorf("asked for what it runs with, it says %q, and the spec becomes (-before +after):\n%s", says, diff)
	}

	s.apply("client", s.configFile("app", "two"))
	says, err = s.expect("web", s.expected("app"))
	s.must(err)
	spent("asked for what is new")
	second := s.deployment("web")
	if was, is := first.Spec.Template.Annotations[sapHash], second.Spec.Template.Annotations[sapHash]; was == is || len(is) != 64 || strings.Contains(says, "Warning") {
		t.Errorf("asked for what is new, it says %q, and the mark is %q; it was %q", says, is, was)
	}
	if diff := cmp.Diff([]string{"AlreadyCurrent"}, s.outcomes("web", 1)); diff != "" {
		t.Errorf("what Reroll makes of it (-want +got):\n%s", diff)
	}

	says, err = s.expect("web", stale)
	s.must(err)
	spent("asked for what is gone")
	if diff := cmp.Diff(second.Spec, s.deployment("web").Spec); diff != "" || !strings.Contains(says, "Warning: reroll: the hash that this request expects") {
		t.Errorf("asked for what is gone, it says %q, and the spec becomes (-before +after):\n%s", says, diff)
	}
	shared.Reroll.Kill()
	_, err = s.expect("web", stale)
	s.must(err)
	s.must(shared.Reroll.Start("--admission-refuse-unexpected-hash"))
	defer func() {
		shared.Reroll.Kill()
		s.back()
	}()
	s.answering()
	s.kubectl("label", "--namespace="+s.ns, "deployment/web", "team=web") // what was left behind keeps nobody from writing
	if says, err := s.expect("web", stale[1:]+"0"); err == nil || !strings.Contains(says, "the hash that this request expects") {
		t.Errorf("where it is to be refused, %v, and it says %q", err, says)
	}
	if token := s.deployment("web").Annotations[sapHash]; token != stale {
		t.Errorf("refused, the workload has the hash %q", token)
	}
	_, err = s.expect("web", s.expected("app"))
	s.must(err)
	spent("asked for what there is")
	if n := s.replicaSets("web"); n != 2 {
		t.Errorf("%d ReplicaSets, want 2", n)
	}
}
