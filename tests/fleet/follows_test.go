package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
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
	times int
}

func (e *edited) edit() {
	e.times++
	e.owner.Edit(e.name, fmt.Sprint(e.times))
}

// refused fails the test unless a workload that follows what it may not says so, and its owner has nothing of that on record.
func (c *cluster) refused(owner *cluster) {
	c.T.Helper()
	owner.offer("private", map[string]string{dialect.FollowersKey: "c2"})
	c.Config("stranger", "0")
	c.Deploy("stranger", following("private"), line.FromConfigMap("stranger"))
	c.Await("a problem of the stranger", func(ctx context.Context) error {
		var w view.Workload
		err := c.Line.Reroll.Get(ctx, c.path("stranger"), &w)
		if err == nil && !slices.ContainsFunc(w.Missing, func(m reloader.Missing) bool { return strings.Contains(m.Unreadable, "does not name "+c.name) }) {
			err = fmt.Errorf("it cannot read %+v", w.Missing)
		}
		return err
	})
	for config, want := range map[string]bool{"flags": true, "private": false} {
		var page struct{ Items []struct{} }
		owner.Must(owner.Line.Reroll.Get(c.Ctx(), "/api/v1/changes?includeBaselines=true&name="+config, &page))
		if len(page.Items) > 0 != want {
			c.T.Errorf("%d changes of %s are on record", len(page.Items), config)
		}
	}
}

const latecomer = "latecomer"

// followsForATime has a config of the owner followed and left, and then changed while nobody follows it.
func (c *cluster) followsForATime(owner *cluster) {
	c.T.Helper()
	owner.offer(latecomer, map[string]string{dialect.FollowersKey: "*"})
	c.deploy(latecomer, following(latecomer))
	c.Must(c.Client().AppsV1().Deployments(namespace).Delete(c.Ctx(), latecomer, metav1.DeleteOptions{}))
}

// followsAnew fails the test unless first sight of what has changed meanwhile rolls nothing, and the next change does, once.
func (c *cluster) followsAnew(owner *cluster) {
	c.T.Helper()
	owner.Edit(latecomer, "1")
	owner.quiesce()
	c.deploy(latecomer, following(latecomer))
	c.quiesce()
	if n := c.Rolls(latecomer); n != 0 {
		c.T.Errorf("at first sight it rolled %d times", n)
	}
	owner.Edit(latecomer, "2")
	c.waitRolls(latecomer, 1)
	c.quiesce()
	if n := c.Rolls(latecomer); n != 1 {
		c.T.Errorf("for one change it rolled %d times", n)
	}
}

// secretContent is what a Secret has that is followed.
const secretContent = "n5Wd9gQz2XvK7mTb4RcH8sJy"

// followsSecret has a Secret of the owner followed, and changed.
func (c *cluster) followsSecret(owner *cluster) {
	c.T.Helper()
	owner.Secret("token", secretContent)
	owner.Kubectl("annotate", "secret/token", dialect.FollowersKey+"="+c.name)
	c.deploy("bearer", map[string]string{dialect.FollowKey: "c1/" + namespace + "/secret/token"})
	owner.EditSecret("token", secretContent+"-2")
	c.waitRolls("bearer", 1)
}

// hides fails the test if content is in a file of the hub, or if these do not even have the name of its config.
func (h *hub) hides(content, name string) {
	h.t.Helper()
	for _, member := range h.Names() {
		found, err := line.PiecesInFiles(h.Store(member), content, name)
		must(h.t, err)
		for _, form := range found {
			h.t.Errorf("content was found %s", form)
		}
	}
}
