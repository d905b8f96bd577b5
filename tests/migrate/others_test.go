package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestOtherGuides follows the guide for the other tools to its end, for Wave: no pod is replaced for the move in, what was missed while neither of the
// two worked is rolled once, and so is the next edit. tests/conformance has what each tool's marks say.
func TestOtherGuides(t *testing.T) {
	line.Eventually(t, "no Deployments of other tests", func(ctx context.Context) error {
		list, err := shared.Kube.Client().AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%s/%s is still there", list.Items[0].Namespace, list.Items[0].Name)
		}
		return err
	})
	s := newShop(t, "wave")
	s.Kubectl("apply", "--namespace=", "--filename=testdata/wave.yaml")
	r := newReader(t, "others", "config: {reload: {strategy: env-vars}}\n")
	if said := r.follow(t, sortOut, nil); !strings.Contains(said, "6 workloads; the first start rolls 0 of them. Workloads with conflicts: 0, with typos: 0, with remains of another tool: 0") {
		t.Errorf("it says:\n%s", said)
	}
	was := s.look()
	r.follow(t, observeOther, nil)
	s.expectKept(was)
	r.follow(t, swapOther, map[string]func(){"dryRun=false": func() { s.edit("missed", "2") }})
	s.awaitReload("missed", "Reloaded", 1)
	s.awaitPods("missed")
	s.expectKept(was, "missed")
	s.edit("seen", "2")
	s.awaitReload("seen", "Reloaded", 1)
	s.awaitPods("seen")
	r.follow(t, cleanUpOther, nil)
	if left := s.Kubectl("get", "--namespace=wave", "--ignore-not-found", "deployment/wave", "mutatingwebhookconfiguration/wave"); left != "" {
		t.Errorf("the tool is still there: %s", left)
	}
	s.expectKept(was, "missed", "seen")
	r.Follow(t, "helm uninstall reroll --namespace reroll")
}
