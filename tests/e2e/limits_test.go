package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestGreedyWorkloadsHoldUpNobody: a Deployment that names 3,000 configs, one whose glob matches 1,200, and a config with 13,000 keys are served as
// far as the limits go. After a restart the process gets ready, and ordinary workloads roll.
func TestGreedyWorkloadsHoldUpNobody(t *testing.T) {
	l := ownLine(t, line.Options{Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{}}})
	r := newRoom(t, l)
	names := make([]string, 3000)
	for i := range names {
		names[i] = fmt.Sprintf("name-%d", i)
	}
	named := deployment("named")
	named.Annotations = map[string]string{"configmap.reloader.stakater.com/reload": strings.Join(names, ",")}
	matched := deployment("matched")
	matched.Annotations = map[string]string{"reroll.dev/configmaps": "part-*"}
	r.createParts(1200)
	keys := map[string]string{}
	for i := range 13_000 {
		keys[fmt.Sprintf("key-%044d", i)] = "1"
	}
	r.create(configMap("keys", keys))
	r.create(configMap("app", map[string]string{"k": "a"}))
	r.create(named)
	r.create(matched)
	r.create(deployment("many-keys", usesEnvFrom("keys")))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)
	r.waitBaseline("many-keys", 1)

	r.must(l.Reroll.Terminate(r.ctx))
	r.restart()
	r.waitProblem("named", "more than 1000 names")
	r.waitProblem("matched", "more than 1000 configs")
	r.waitBaseline("named", 1000)
	r.waitBaseline("matched", 1000)
	r.setData("app", "k", "b")
	r.setData("keys", "one-more", "1")
	r.expectRolls("web", 1)
	r.expectRolls("many-keys", 1)
	r.setData("part-0007", "k", "b")
	r.expectRolls("matched", 1)
	r.expectRolls("named", 0)
}

// createParts creates n ConfigMaps, several at a time.
func (r *room) createParts(n int) {
	r.t.Helper()
	var all errgroup.Group
	all.SetLimit(8)
	for i := range n {
		all.Go(func() error {
			part := configMap(fmt.Sprintf("part-%04d", i), map[string]string{"k": "a"})
			_, err := r.client.CoreV1().ConfigMaps(r.ns).Create(r.ctx, part, metav1.CreateOptions{})
			return err
		})
	}
	r.must(all.Wait())
}

// waitProblem waits until the API says what is wrong with a Deployment.
func (r *room) waitProblem(name, want string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		problems, err := r.line.Reroll.Problems(ctx, r.ns, name)
		if err == nil && !strings.Contains(strings.Join(problems, "\n"), want) {
			err = fmt.Errorf("the problems of %s are %q, and none says %q", name, problems, want)
		}
		return err
	}))
}
