package hub_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// hears collects what a cluster is told.
type hears struct {
	copies chan reloader.Copy
	wants  chan reloader.Want
}

func (h hears) following(followed func() []reloader.Follow) hub.Following {
	return hub.Following{
		Followed: followed, Received: func(c reloader.Copy) { h.copies <- c }, Wanted: func(w reloader.Want) { h.wants <- w },
	}
}

func newHears() hears { return hears{make(chan reloader.Copy, 100), make(chan reloader.Want, 100)} }

func next[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return got
}

func nothing() []reloader.Follow { return nil }

// TestFollow: c2 asks c1 for a config, and c1 answers; what comes while c2 is away is delivered when it is back. A copy that another cluster writes in
// the name of c1 is not believed.
func TestFollow(t *testing.T) {
	url := natsserver.StartHub(t, []string{"c1", "c2", "c3"}).ClientURL()
	followed := flags
	followed.Cluster = "c1"
	owner, target := newHears(), newHears()
	c1, _ := member(t, local(t, t.TempDir()), url, "c1", "uid-1", owner.following(nothing))
	asks := func() []reloader.Follow { return []reloader.Follow{{Config: followed, Number: 7}} }
	store := local(t, t.TempDir())
	_, endC2 := member(t, store, url, "c2", "uid-2", target.following(asks))
	if w := next(t, owner.wants); len(w.Configs) != 1 || w.Configs[0] != (reloader.Follow{Config: flags, Number: 7}) || w.Target != "c2" {
		t.Fatalf("c1 was asked for %+v", w)
	}
	told := reloader.Copy{Owner: "c1", Target: "c2", Config: flags, Change: change("c1", 1), Answers: 7, At: epoch}
	told.Change.Config = flags
	c1.Send(told)
	if c := next(t, target.copies); c.Change.ID != told.Change.ID {
		t.Fatalf("c2 was told %+v", c)
	}
	endC2()
	forge(t, url)
	told.At, told.Refused = epoch.Add(time.Second), "not any more"
	c1.Send(told)
	member(t, store, url, "c2", "uid-2", target.following(nothing))
	if c := next(t, target.copies); c.Refused != told.Refused || c.Owner != "c1" {
		t.Errorf("c2 was told %+v", c)
	}
}

// forge has c3 write a copy for c2 that claims to be from c1.
func forge(t *testing.T, url string) {
	t.Helper()
	c, err := queue.Dial(natsserver.Login(t, url, "c3"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.NATS.Close()
	data, err := reloader.Encode(reloader.Copy{Owner: "c1", Target: "c2", Config: flags, Refused: "forged", At: epoch})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.JS.PublishMsg(t.Context(), &nats.Msg{Subject: "hub.reroll.copy.c3.c2.configmap.shop.flags.v2", Data: data}); err != nil {
		t.Fatal(err)
	}
}
