package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	for config, want := range map[string]bool{"flags": true, "private": false} {
		var page struct{ Items []struct{} }
		must(c.t, owner.Reroll.Get(ctx, "/api/v1/changes?includeBaselines=true&name="+config, &page))
		if len(page.Items) > 0 != want {
			c.t.Errorf("%d changes of %s are on record", len(page.Items), config)
		}
	}
}

// complains returns nil if the record of a workload has a problem with that text.
func (c *cluster) complains(ctx context.Context, name, text string) error {
	var w view.Workload
	if err := c.Reroll.Get(ctx, "/api/v1/workloads/"+c.name+"/"+namespace+"/Deployment/"+name, &w); err != nil {
		return err
	}
	if !slices.ContainsFunc(w.Unreadable, func(u reloader.Unreadable) bool { return strings.Contains(u.Message, text) }) {
		return fmt.Errorf("%s in %s cannot read %+v", name, c.name, w.Unreadable)
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

// secretContent is what a Secret has that is followed.
const secretContent = "n5Wd9gQz2XvK7mTb4RcH8sJy"

// followsSecret has a Secret of the owner followed, and changed.
func (c *cluster) followsSecret(ctx context.Context, owner *cluster) {
	c.t.Helper()
	secrets := owner.Kube.Client().CoreV1().Secrets(namespace)
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "token", Annotations: map[string]string{dialect.FollowersKey: c.name}},
		StringData: map[string]string{"value": secretContent},
	}
	_, err := secrets.Create(ctx, token, metav1.CreateOptions{})
	must(c.t, err)
	c.deploy(ctx, "bearer", map[string]string{dialect.FollowKey: "c1/" + namespace + "/secret/token"})
	_, err = secrets.Patch(ctx, "token", types.MergePatchType, []byte(`{"stringData":{"value":"`+secretContent+`-2"}}`), metav1.PatchOptions{})
	must(c.t, err)
	c.waitRolls(ctx, "bearer", 1)
}

// hides fails the test if content is in a file of the hub, or if these do not even have the name of its config.
func (h *hub) hides(content, name string) {
	h.t.Helper()
	for _, member := range h.Names() {
		named := false
		must(h.t, filepath.WalkDir(h.Store(member), func(path string, entry os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) || err == nil && entry.IsDir() {
				return nil
			}
			data, readErr := os.ReadFile(path)
			if errors.Is(readErr, os.ErrNotExist) { // a server has dropped it meanwhile
				return nil
			}
			named = named || bytes.Contains(data, []byte(name))
			for _, form := range line.Pieces(content, data) {
				h.t.Errorf("content was found %s in %s", form, path)
			}
			return errors.Join(err, readErr)
		}))
		if !named {
			h.t.Errorf("the files of %s do not even name %s: the search proves nothing", member, name)
		}
	}
}
