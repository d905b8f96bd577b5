//go:build nightly

package thousand

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/line"
)

// forwarderVariable, in the environment, makes this program the forwarder of one cluster, so that it can be killed as a process.
const forwarderVariable = "REROLL_TEST_FORWARDER"

type forwarder struct{ Cluster, Local, Hub, Password string }

// serveForwarder forwards until the process is killed, if the environment says so. Otherwise it returns false.
func serveForwarder() bool {
	var f forwarder
	if json.Unmarshal([]byte(os.Getenv(forwarderVariable)), &f) != nil {
		return false
	}
	m, err := (&world{local: f.Local, password: f.Password}).newMember(context.Background(), f.Cluster, f.Hub)
	if err == nil {
		hub.New(m.queue, m.hub).Run(context.Background(), hub.Following{})
	}
	fmt.Fprintln(os.Stderr, "forwarder:", err)
	return true
}

func (f forwarder) start() (*exec.Cmd, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), forwarderVariable+"="+string(text)), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, cmd.Start()
}

const clusters = 4

// TestKills: forwarders, servers of the hub and its API are killed while records are stored. In the end the hub has each record once, and the API lists the
// newest ones once.
func TestKills(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Minute)
	defer cancel()
	w := newWorld(ctx, t, clusters)
	all, forwarders := make([]*member, clusters), make([]*exec.Cmd, clusters)
	start := func(i int) {
		t.Helper()
		var err error
		forwarders[i], err = forwarder{clusterName(i), w.local, w.URL, w.password}.start()
		line.Must(t, err)
	}
	kill := func(i int) { _ = forwarders[i].Process.Kill(); _ = forwarders[i].Wait() }
	for i := range all {
		var err error
		all[i], err = w.newMember(ctx, clusterName(i), w.URL)
		line.Must(t, err)
		t.Cleanup(func() { _ = all[i].queue.Close(context.WithoutCancel(ctx)) })
		start(i)
		t.Cleanup(func() { kill(i) })
	}
	killed := map[string]int{}
	for n := range kills {
		line.Must(t, each(ctx, all, func(ctx context.Context, m *member) error {
			for range written / kills / clusters {
				if _, err := m.change(ctx, 1+rand.IntN(10_000), reloader.ChangeUpdated); err != nil {
					return err
				}
			}
			return nil
		}))
		switch {
		case n%20 == 7:
			name := w.Names()[rand.IntN(len(w.Names()))]
			w.Kill(name)
			line.Must(t, w.Start(name))
			killed["servers"]++
		case n%20 == 17:
			w.api.Kill()
			line.Must(t, w.api.Start())
			killed["API"]++
		default:
			kill(n % clusters)
			start(n % clusters)
			killed["forwarders"]++
		}
		pause(ctx, time.Duration(rand.IntN(400))*time.Millisecond)
	}
	for _, m := range all {
		line.Must(t, line.Poll(ctx, func(context.Context) error { return w.lacks(m) }))
		line.Must(t, line.Poll(ctx, func(ctx context.Context) error { return w.lists(ctx, m) }))
	}
	t.Logf("killed: %v", killed)
	w.judge(t)
}

// share is how many changes of each cluster the API has room for, at least.
const share = 10_000 / clusters

// lists returns an error unless the API lists the newest changes of a cluster once, as many as it has room for.
func (w *world) lists(ctx context.Context, m *member) error {
	listed := map[string]int{}
	query := url.Values{"cluster": {m.name}, "limit": {"500"}}
	for {
		var page struct {
			Items    []struct{ ID string }
			Continue string
		}
		if err := w.api.Get(ctx, "/api/v1/changes?"+query.Encode(), &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			if listed[item.ID]++; listed[item.ID] > 1 {
				return line.Stop(fmt.Errorf("the API lists %s of %s twice", item.ID, m.name))
			}
		}
		if query.Set("continue", page.Continue); page.Continue == "" {
			break
		}
	}
	for _, id := range m.made[max(0, len(m.made)-share):] {
		if listed[id] == 0 {
			return fmt.Errorf("the API lists %d of %d changes of %s, without %s", len(listed), len(m.made), m.name, id)
		}
	}
	return nil
}
