package admission

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarkThatCoversLess: fabric8's mark is not made of binary data, so that it is the same after an apply that changes that and the template
// together. Reroll finds nothing left to do all the same.
func TestMarkThatCoversLess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	config := func(binary string) string {
		encoded := base64.StdEncoding.EncodeToString([]byte(binary))
		return s.file("config.yaml", fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: %s}\ndata: {key: same}\nbinaryData: {key.bin: %q}\n", s.ns, encoded))
	}
	workload := func(image string) string {
		return s.file("deployment.yaml", strings.Replace(manifest(s.ns, "web", "app", image, "fabric8"), `fabric8: "true"`, "configmap.fabric8.io/update-on-change: app", 1))
	}
	marked := func() (mark string) {
		for _, v := range s.deployment("web").Spec.Template.Spec.Containers[0].Env {
			if v.Name == "FABRIC8_APP_CONFIGMAP" {
				mark = v.Value
			}
		}
		return mark
	}
	s.apply("client", config("one"), workload("1"))
	s.settled("web")
	first := ""
	for i, manager := range []string{"client", "kustomize-controller"} {
		s.apply(manager, config(fmt.Sprint("value ", i)), workload(fmt.Sprint("next-", i)))
		want := []string{"Reloaded", "Reloaded"}[:i+1]
		if diff := cmp.Diff(want, s.outcomes("web", i+1)); diff != "" {
			t.Errorf("what Reroll makes of change %d (-want +got):\n%s", i, diff)
		}
		if n := s.replicaSets("web"); n != i+2 {
			t.Errorf("%d ReplicaSets after change %d, want %d", n, i, i+2)
		}
		if i == 0 {
			first = marked()
		}
	}
	if now := marked(); now != first || first == "" {
		t.Errorf("the mark was %q and is %q: nothing that it is made of has changed", first, now)
	}
}
