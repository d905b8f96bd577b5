package queue

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
)

func TestFirstUIDStaysBound(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{StoreDir: dir})
	if err := errors.Join(q.BindCluster(testContext(t), "blue", "uid-1"), q.BindCluster(testContext(t), "green", "uid-2")); err != nil {
		t.Fatal(err)
	}
	closeQueue(t, q)
	q = open(t, Options{StoreDir: dir})
	ctx := testContext(t)
	if err := q.BindCluster(ctx, "blue", "uid-1"); err != nil {
		t.Errorf("the same cluster again: %v", err)
	}
	err := q.BindCluster(ctx, "blue", "uid-2")
	if !errors.Is(err, ErrOtherCluster) {
		t.Fatalf("another cluster of that name: %v; want ErrOtherCluster", err)
	}
	for _, word := range []string{"uid-1", "uid-2", "blue", "--cluster-name", "--data-dir", clustersBucket} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %s", err, word)
		}
	}
	bucket, err := q.js.KeyValue(ctx, clustersBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Delete(ctx, "blue"); err != nil {
		t.Fatal(err)
	}
	if err := q.BindCluster(ctx, "blue", "uid-2"); err != nil {
		t.Errorf("after the key was deleted: %v", err)
	}
}

func TestOneOfManyBinds(t *testing.T) {
	q := open(t, Options{})
	errs := make([]error, 16)
	var all sync.WaitGroup
	for n := range errs {
		all.Go(func() { errs[n] = q.BindCluster(testContext(t), "blue", fmt.Sprint("uid-", n)) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrOtherCluster) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d clusters have the same name", won)
	}
}

func TestBindClusterRefusesBadNames(t *testing.T) {
	q := open(t, Options{})
	if err := q.BindCluster(testContext(t), "a.>", "uid"); !errors.Is(err, reloader.ErrInvalidName) {
		t.Errorf("got %v", err)
	}
	if err := q.BindCluster(testContext(t), "blue", ""); err == nil {
		t.Error("bound to nothing")
	}
}

func TestBindClusterNeedsFewPermissions(t *testing.T) {
	look := []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.DIRECT.GET." + clustersStream + ".>"}
	cases := map[string]struct {
		publish *server.SubjectPermission
		denied  bool
	}{
		"may look":  {&server.SubjectPermission{Allow: look}, true},
		"may write": {&server.SubjectPermission{Allow: append(look, clusterPrefix+".blue")}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			admin, user := restricted(t, c.publish)
			made, q := open(t, Options{URL: admin}), open(t, Options{URL: user, InboxPrefix: "_INBOX_reroll"})
			ctx := testContext(t)
			if err := q.BindCluster(ctx, "blue", "uid-1"); (err != nil) != c.denied || c.denied && !errors.Is(err, ErrDenied) {
				t.Errorf("the first time: %v", err)
			}
			if err := errors.Join(made.BindCluster(ctx, "blue", "uid-1"), q.BindCluster(ctx, "blue", "uid-1")); err != nil {
				t.Errorf("once it is bound: %v", err)
			}
		})
	}
}
