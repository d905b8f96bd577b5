package fleet

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/line"
)

// following are the annotations of a workload that follows a ConfigMap of c1.
func following(name string) map[string]string {
	return map[string]string{dialect.FollowKey: "c1/" + namespace + "/configmap/" + name}
}

// edited is a config of a cluster, and how often it was edited.
type edited struct {
	owner *cluster
	name  string
	times int64
}

func (e *edited) edit(ctx context.Context) error {
	e.times++
	return e.owner.give(ctx, e.name, fmt.Sprint(e.times), nil)
}

// refused fails the test unless a workload that follows what it may not says so, and its owner has nothing of that on record.
func (c *cluster) refused(ctx context.Context, owner *cluster) {
	c.t.Helper()
	must(c.t, owner.give(ctx, "private", "0", map[string]string{dialect.FollowersKey: "c2"}))
	c.create(ctx, "stranger", following("private"))
	must(c.t, line.Poll(ctx, func(ctx context.Context) error {
		return c.complains(ctx, "stranger", "does not name "+c.name)
	}))
	must(c.t, owner.Reroll.Get(ctx, "/api/v1/configs/"+owner.name+"/"+namespace+"/ConfigMap/flags", new(struct{})))
	if err := owner.Reroll.Get(ctx, "/api/v1/configs/"+owner.name+"/"+namespace+"/ConfigMap/private", new(struct{})); err == nil {
		c.t.Error("what nobody asks for who may follow it is on record")
	}
}

// complains returns nil if the record of a workload has a problem with that text.
func (c *cluster) complains(ctx context.Context, name, text string) error {
	var w struct{ Problems []string }
	if err := c.Reroll.Get(ctx, "/api/v1/workloads/"+c.name+"/"+namespace+"/Deployment/"+name, &w); err != nil {
		return err
	}
	if !strings.Contains(strings.Join(w.Problems, " "), text) {
		return fmt.Errorf("%s in %s has the problems %q", name, c.name, w.Problems)
	}
	return nil
}

const latecomer = "latecomer"

// followsForATime has a config of the owner followed and left, and then changed while nobody follows it.
func (c *cluster) followsForATime(ctx context.Context, owner *cluster) {
	c.t.Helper()
	must(c.t, owner.give(ctx, latecomer, "0", map[string]string{dialect.FollowersKey: "*"}))
	c.deploy(ctx, latecomer, following(latecomer))
	must(c.t, c.Kube.Client().AppsV1().Deployments(namespace).Delete(ctx, latecomer, metav1.DeleteOptions{}))
}

// followsAnew fails the test unless first sight of what has changed meanwhile rolls nothing, and the next change does, once.
func (c *cluster) followsAnew(ctx context.Context, owner *cluster) {
	c.t.Helper()
	must(c.t, owner.give(ctx, latecomer, "1", nil))
	owner.quiesce(ctx)
	c.deploy(ctx, latecomer, following(latecomer))
	c.quiesce(ctx)
	if n := c.rolls(ctx, latecomer); n != 0 {
		c.t.Errorf("at first sight it rolled %d times", n)
	}
	must(c.t, owner.give(ctx, latecomer, "2", nil))
	c.waitRolls(ctx, latecomer, 1)
	c.quiesce(ctx)
	if n := c.rolls(ctx, latecomer); n != 1 {
		c.t.Errorf("for one change it rolled %d times", n)
	}
}
