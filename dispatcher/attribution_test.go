package dispatcher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// editUnheard edits app and returns the hint of that, which nobody has got.
func (w *world) editUnheard(by reloader.Actor, value string) reloader.Hint {
	w.t.Helper()
	w.stream.hold()
	w.edit(by, app, value)
	return w.stream.take()[0]
}

// generated is the hint about a ConfigMap of which only the API server knows the name.
func (w *world) generated(by reloader.Actor) reloader.Hint {
	return reloader.Hint{
		Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: appConfig.Namespace}, Verb: reloader.VerbCreate,
		Source: reloader.SourceAudit, Actor: by, AuditID: "audit-generated", Code: 201, Time: time.Now(), Received: time.Now(),
	}
}

// TestWho: who may have made a change, and why we think so. The change and its reload name the same candidates, also those of whom a hint tells
// after the change was found, or after the reload was recorded. What is pending when a process ends is told by the newest change alone.
func TestWho(t *testing.T) {
	// twice has two people write, one after the other.
	twice := func(w *world) {
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.edit(bob, app, "3")
		w.pass(time.Minute)
	}
	for name, test := range map[string]struct {
		act  func(w *world)
		want string
	}{
		"one writer": {func(w *world) { w.edit(alice, app, "2") }, "alice true"},
		"nobody generates a name that was there before": {func(w *world) {
			w.stream.hold()
			w.must(w.delete(alice, app))
			w.give("app", "2")
			w.stream.put(w.generated(bob))
			w.stream.send(w.stream.take()...)
		}, "alice true"},
		"two, while nobody ran": {func(w *world) { w.stop(); twice(w); w.start() }, "alice false, bob true"},
		"the feed is late, and a sweep was there before": {func(w *world) {
			w.stream.hold()
			w.edit(alice, app, "2")
			w.pass(3 * time.Minute)
			w.rolled(web, 1)
			w.stream.send(w.stream.take()...)
		}, "alice true"},
		"the hint about the change before comes again": {func(w *world) {
			again := w.stream.last[appConfig]
			w.stop()
			w.edit(bob, app, "2")
			w.pass(time.Minute)
			w.stream.send(again)
			w.start()
		}, "bob true"},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.SweepInterval = time.Minute }
			w.usually()
			test.act(w)
			w.must(w.Quiesce(t.Context()))
			w.rolled(web, 1)
			change, _ := w.store.changesOf(appConfig)
			var found []string
			for _, who := range change.Candidates {
				found = append(found, fmt.Sprint(who.Actor.User, " ", who.Sure))
			}
			if got := strings.Join(slices.Compact(slices.Sorted(slices.Values(found))), ", "); got != test.want {
				t.Errorf("candidates are %q, want %q", got, test.want)
			}
			if change.Source != reloader.SourceAudit || change.RequestedAt.IsZero() || change.ReceivedAt.IsZero() {
				t.Errorf("the change does not say which hint told of it: %+v", change)
			}
			reloads := w.store.reloadsOf(webRef)
			if len(reloads) != 1 || len(reloads[0].Causes) != 1 {
				t.Fatalf("reloads: %+v", reloads)
			}
			cause := reloads[0].Causes[0]
			if d := cmp.Diff(change.Candidates, cause.Candidates); d != "" || cause.Source != change.Source || !cause.RequestedAt.Equal(change.RequestedAt) || !cause.ReceivedAt.Equal(change.ReceivedAt) {
				t.Errorf("the reload says something else than its change: %+v\n%s", cause, d)
			}
			if n := len(w.store.announced); n != 1 {
				t.Errorf("%d reloads were announced: who did it is no other reload", n)
			}
		})
	}
}
