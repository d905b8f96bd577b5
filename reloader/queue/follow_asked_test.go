//go:build nightly

package queue

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// followingAs runs a forwarder of cluster green, which follows what it is told to, until the returned function is called.
func followingAs(t *testing.T, hub string, followed func() []reloader.Follow) (stop func()) {
	t.Helper()
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: hub}, Cluster: "green", UID: "uid-green", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- f.Run(ctx, Following{Followed: followed, Received: func(reloader.Copy) {}, Wanted: func(reloader.Want) {}})
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestOwnerHearsThatNothingIsFollowedAnyMore: so that it ends to copy, also if the process that asked it is another one.
func TestOwnerHearsThatNothingIsFollowedAnyMore(t *testing.T) {
	for name, anew := range map[string]bool{"the process goes on": false, "the process starts anew": true} {
		t.Run(name, func(t *testing.T) {
			address := hubServer(t, t.TempDir(), -1).ClientURL()
			wants := make(chan reloader.Want, 100)
			inFleet(t, address, "blue", Following{
				Followed: func() []reloader.Follow { return nil }, Received: func(reloader.Copy) {}, Wanted: func(w reloader.Want) { wants <- w },
			})
			flags := config("flags.v2")
			flags.Cluster = "blue"
			var ended atomic.Bool
			var number atomic.Uint64 // another one each time, so that it is asked for again although the owner may not have listened yet
			followed := func() []reloader.Follow {
				if ended.Load() {
					return nil
				}
				return []reloader.Follow{{Config: flags, Number: number.Add(1)}}
			}
			hears := func(configs int) {
				t.Helper()
				for {
					select {
					case w := <-wants:
						if w.Target == "green" && len(w.Configs) == configs {
							return
						}
					case <-testContext(t).Done():
						t.Fatalf("the owner was not told of %d configs", configs)
					}
				}
			}
			stop := followingAs(t, address, followed)
			defer func() { stop() }()
			hears(1)
			at := newHub(open(t, Options{URL: address, Role: RoleForward}))
			eventually(t, "who was asked, on record", func() bool {
				s, err := at.status(testContext(t), "green")
				return err == nil && s.Forward != nil && !s.Forward.Asked["blue"].IsZero()
			})
			if anew {
				stop()
				stop = func() {}
			}
			ended.Store(true)
			if anew {
				stop = followingAs(t, address, followed)
			}
			hears(0)
		})
	}
}

// TestOwnersThatAreNotAskedAreToldForADay: who follows nothing need not say so for ever.
func TestOwnersThatAreNotAskedAreToldForADay(t *testing.T) {
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: "nats://127.0.0.1:1"}, Cluster: "green", UID: "u", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	f.state.Asked = map[string]time.Time{"red": epoch, "not one.": epoch, "yellow": epoch.Add(-askedTime), "ahead": epoch.Add(30 * askedTime)}
	f.recallAsked(epoch)
	for i, step := range []struct {
		after time.Duration
		asks  []string
		want  []string
	}{
		{time.Second, []string{"blue"}, []string{"ahead", "red"}},
		{time.Hour, nil, []string{"ahead", "blue", "red"}},
		{2 * time.Hour, []string{"red"}, []string{"ahead", "blue"}},
		{askedTime + time.Minute, nil, []string{"red"}},
		{askedTime + 2*time.Hour, nil, []string{"red"}},
		{askedTime + 3*time.Hour, nil, nil},
	} {
		wants := map[string]*reloader.Want{}
		for _, owner := range step.asks {
			wants[owner] = &reloader.Want{}
		}
		got := f.parted(wants, epoch.Add(step.after))
		if slices.Sort(got); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

// TestOwnersThatAreAskedAreBounded: a label names an owner, whether there is one or not, and whoever may set one names as many as they like. The status
// has room for those that were asked last, whoever wrote it.
func TestOwnersThatAreAskedAreBounded(t *testing.T) {
	f, err := open(t, Options{}).NewForwarder(ForwardOptions{Hub: Options{URL: "nats://127.0.0.1:1"}, Cluster: "green", UID: "u", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	const tooMany = 10_000
	wants, asked := map[string]*reloader.Want{}, map[string]time.Time{}
	for n := range tooMany {
		wants[fmt.Sprint("made-up-", n)], asked[fmt.Sprint("told-", n)] = &reloader.Want{}, epoch
	}
	check := func(want ...string) {
		t.Helper()
		if m, err := statusMessage(f.newest()); err != nil || len(m.Data) > reloader.MaxWireBytes/4 {
			t.Errorf("the status is too large, or cannot be told: %v", err)
		}
		for _, owner := range want {
			if _, known := f.asked[owner]; !known {
				t.Errorf("%s is forgotten", owner)
			}
		}
	}
	f.state.Asked = asked
	f.recallAsked(epoch)
	check()
	f.parted(wants, epoch.Add(time.Second))
	check()
	if told := f.parted(map[string]*reloader.Want{"blue": {}}, epoch.Add(2*time.Second)); len(told) > maxAsked {
		t.Errorf("%d owners are told that nothing is followed", len(told))
	}
	check("blue")
}
