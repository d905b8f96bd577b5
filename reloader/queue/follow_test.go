package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reroll-dev/reroll/reloader"
)

// followerOf collects what Follow hands over, in a line for each event.
type followerOf struct {
	mu    sync.Mutex
	lines []string
	end   func()
}

func startFollowing(t testing.TB, q *Queue) *followerOf {
	t.Helper()
	f := &followerOf{}
	add := func(line string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lines = append(f.lines, line)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- q.Follow(ctx, Follower{Event: func(e Event) { add(lineOf(e)) }, CaughtUp: func() { add("caught up") }, Reset: func() { add("reset") }})
	}()
	f.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Follow ended with %v", err)
		}
	})
	t.Cleanup(f.end)
	return f
}

func lineOf(e Event) string {
	switch {
	case e.Change != nil:
		return "change " + e.Change.Config.Name
	case e.Reload != nil:
		return "reload " + e.Reload.ID
	case e.Workload != nil:
		return "record " + e.Workload.UID
	case e.Gone != nil:
		return "gone " + e.Gone.String()
	case e.Status != nil:
		return "status " + e.Status.Version
	case e.Position != nil:
		return fmt.Sprint("position ", e.Position.Sequence)
	}
	return "nothing"
}

func (f *followerOf) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines)
}

// expect waits until the lines since the last reset are those, the order of streams aside.
func (f *followerOf) expect(t testing.TB, want ...string) {
	t.Helper()
	slices.Sort(want)
	eventually(t, fmt.Sprintf("%q comes", want), func() bool {
		got := f.all()
		if at := slices.Index(got, "reset"); at >= 0 {
			got = got[at+1:]
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}

// TestFollow: what is stored and what comes is handed over, once and in order, and nothing that cannot be read or is not where it belongs.
func TestFollow(t *testing.T) {
	q, ctx := open(t, Options{}), testContext(t)
	f := startFollowing(t, q)
	f.expect(t, "caught up")
	must(t, q.AppendChange(ctx, change("app", "1")))
	must(t, q.AppendReload(ctx, reload("web", 1)))
	must(t, q.PutWorkload(ctx, workloadRecord("web", "u1")))
	f.expect(t, "caught up", "change app", "reload r-web-1", "record u1") // a later record takes the place of one that was not handed over
	must(t, q.DeleteWorkload(ctx, "blue", workload("web")))
	must(t, q.PutClusterStatus(ctx, reloader.ClusterStatus{Cluster: "blue", Version: "v1"}))
	must(t, q.BindCluster(ctx, "blue", "uid"))
	misplaced, err := reloader.Encode(reload("web", 9))
	must(t, err)
	renamed := change("app", "2")
	renamed.ID = "c-9"
	forged, err := reloader.Encode(renamed)
	must(t, err)
	for subject, data := range map[string][]byte{
		"reroll.reload.red.statefulset.shop.web": misplaced, "reroll.change.blue.configmap.shop.app": forged,
		"reroll.workload.blue.x": []byte("?"), "reroll.change.blue.*": forged, "reroll.workload.blue.statefulset.shop": nil,
	} {
		_, err := q.JS.Publish(ctx, subject, data)
		must(t, err)
	}
	want := []string{"caught up", "change app", "reload r-web-1", "record u1", "gone StatefulSet/shop/web", "status v1"}
	f.expect(t, want...)
	eventually(t, "the others are counted", func() bool {
		return testutil.ToFloat64(q.metrics.unreadable.WithLabelValues(HistoryStream))+testutil.ToFloat64(q.metrics.unreadable.WithLabelValues(StateStream)) == 5
	})
	lines := f.all()
	if slices.Index(lines, "change app") > slices.Index(lines, "reload r-web-1") || slices.Index(lines, "record u1") > slices.Index(lines, "gone StatefulSet/shop/web") {
		t.Errorf("the order is %q", lines)
	}
	f.end()
	again := startFollowing(t, q)
	again.expect(t, "caught up", "change app", "reload r-web-1", "gone StatefulSet/shop/web", "status v1")
}

// TestFollowBeginsAgainWhenAStreamIsLost: what was handed over is taken back, and what is stored then comes.
func TestFollowBeginsAgainWhenAStreamIsLost(t *testing.T) {
	for _, name := range []string{HistoryStream, StateStream} {
		t.Run(name, func(t *testing.T) {
			q, ctx := open(t, Options{}), testContext(t)
			must(t, q.AppendReload(ctx, reload("web", 1)))
			must(t, q.PutWorkload(ctx, workloadRecord("web", "u1")))
			f := startFollowing(t, q)
			f.expect(t, "caught up", "reload r-web-1", "record u1")
			must(t, q.JS.DeleteStream(ctx, name))
			must(t, q.ensureStreams(ctx))
			left := "record u1"
			if name == StateStream {
				left = "reload r-web-1"
			}
			f.expect(t, "caught up", left)
			must(t, q.AppendReload(ctx, reload("web", 2)))
			f.expect(t, "caught up", left, "reload r-web-2")
		})
	}
}

// TestFollowBeginsAgainWhenAClusterIsRemoved: the note comes last, and counts once.
func TestFollowBeginsAgainWhenAClusterIsRemoved(t *testing.T) {
	q, ctx := open(t, Options{}), testContext(t)
	note := func() {
		m := &nats.Msg{Subject: RemovedSubject("red"), Header: nats.Header{jetstream.MsgTTLHeader: {EndTime.String()}}}
		_, err := q.JS.PublishMsg(ctx, m)
		must(t, err)
	}
	note()
	must(t, q.AppendReload(ctx, reload("web", 1)))
	f := startFollowing(t, q)
	f.expect(t, "caught up", "reload r-web-1")
	note()
	eventually(t, "it begins again", func() bool { return slices.Contains(f.all(), "reset") })
	f.expect(t, "caught up", "reload r-web-1")
	must(t, q.AppendReload(ctx, reload("web", 2)))
	f.expect(t, "caught up", "reload r-web-1", "reload r-web-2")
}

// FuzzEvent: no message stops a follower.
func FuzzEvent(f *testing.F) {
	f.Add("reroll.change.blue.configmap.shop.app", []byte(`{"v":1}`))
	f.Add("reroll.workload.blue.deployment.shop.web", []byte{})
	f.Add("reroll.at.blue.HISTORY", []byte(`{"v":1,"of":"HISTORY"}`))
	f.Add("reroll.cluster.blue.status", []byte(`{"v":1,"cluster":"blue"}`))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		e, err := eventOf(Stored{Subject: subject, Data: data, At: time.Now()})
		if err == nil && e != nil && lineOf(*e) == "nothing" {
			t.Errorf("%s: an event that says nothing", subject)
		}
	})
}
