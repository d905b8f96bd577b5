package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// edits is how many updates happen while credentials are rotated.
const edits = 30

// TestClustersComeRotateAndGo does what docs/fleet.md says about a hub that runs, with real clusters: it adds one, rotates the credentials
// of another one while its configs change, removes the first, and has it come back. The API of the hub runs all the time.
func TestClustersComeRotateAndGo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*lineTime)
	defer cancel()
	h := startFleetHub(ctx, t, "c1", "c2")
	api, err := line.StartAPI(ctx, h.url, append(h.flags("nats", user{queue.RoleHubAPI, ""}), "--nats-bind-only")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Kill)
	h.forward(ctx, t, open(ctx, t, queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20}), "c2", queue.Following{})
	c1 := join(ctx, t, h, "c1")
	listed(ctx, t, api, "c1", "c2")

	t.Log("a third cluster: its name in the configuration, which the server reads while it runs")
	h.add(ctx, "c3")
	c3 := join(ctx, t, h, "c3")
	c1.edit(ctx, 1)
	c3.edit(ctx, 1)
	c1.arrives(ctx, h)
	c3.arrives(ctx, h)
	listed(ctx, t, api, "c1", "c2", "c3")

	t.Log("new credentials for c1: first in the cluster, then at the hub, while configs change")
	u := user{queue.RoleForward, "c1"}
	old := h.password(u)
	edited := make(chan error, 1)
	go func() { edited <- c1.load(ctx) }()
	h.passwords[queue.PasswordVariable(u.role, u.cluster)] = "second"
	h.flags("hub", u)
	h.reload()
	h.refuses(ctx, u, old)
	if err := <-edited; err != nil {
		t.Fatal(err)
	}
	c1.edit(ctx, edits+2)
	c1.arrives(ctx, h)
	if err := h.login(u, "second"); err != nil {
		t.Errorf("the new credentials: %v", err)
	}

	t.Log("c3 goes")
	if err := c3.Reroll.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	h.clusters = []string{"c1", "c2"}
	h.reload()
	h.refuses(ctx, user{queue.RoleForward, "c3"}, h.password(user{queue.RoleForward, "c3"}))
	if out := h.remove("c3", "--dry-run"); !strings.Contains(out, "reloads\n") || strings.Contains(out, "removed") {
		t.Errorf("a dry run says\n%s", out)
	}
	if out := h.remove("c3", "--yes", "--silent-for=2s"); !strings.Contains(out, "name c3: freed\n") || !strings.Contains(out, "reloads: ") {
		t.Errorf("removing c3 says\n%s", out)
	}
	listed(ctx, t, api, "c1", "c2")
	if out := h.remove("c3", "--yes"); out != "the hub has nothing of c3\n" {
		t.Errorf("the second time it says\n%s", out)
	}
	if left, err := h.ids(ctx, "c3"); err != nil || len(left) > 0 {
		t.Errorf("the hub still has %v: %v", left, err)
	}
	c1.arrives(ctx, h)

	t.Log("c3 comes back, as a new one with all that it keeps")
	h.add(ctx, "c3")
	if err := c3.Reroll.Start(); err != nil {
		t.Fatal(err)
	}
	c3.arrives(ctx, h)
	listed(ctx, t, api, "c1", "c2", "c3")
}

// remove runs reroll nats remove as the administrator of the hub.
func (h *fleetHub) remove(cluster string, flags ...string) string {
	h.t.Helper()
	args := append([]string{"nats", "remove", cluster, "--nats-url", h.url}, h.flags("nats", user{queue.RoleHubAdmin, ""})...)
	out, err := reroll(h.t, append(args, flags...)...)
	if err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return out
}

// listed waits until the API of the hub lists these clusters and no others.
func listed(ctx context.Context, t *testing.T, api *line.Reroll, names ...string) {
	t.Helper()
	err := line.Poll(ctx, func(ctx context.Context) error {
		var page struct {
			Items []struct{ Name, Health string }
		}
		if err := api.Get(ctx, "/api/v1/clusters", &page); err != nil {
			return err
		}
		var found []string
		for _, c := range page.Items {
			found = append(found, c.Name)
		}
		if !slices.Equal(found, names) {
			return fmt.Errorf("the hub lists %+v, want %v", page.Items, names)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, api.Log())
	}
}

// fleetMember is a cluster with a workload.
type fleetMember struct {
	*line.Line
	t        *testing.T
	name, ns string
}

// join starts a cluster that forwards to the hub, with a workload that reads a ConfigMap.
func join(ctx context.Context, t *testing.T, h *fleetHub, name string) *fleetMember {
	t.Helper()
	l, err := line.Start(ctx, line.Options{
		Cluster: name, Kube: kube.Options{ControlPlaneOnly: true},
		Flags: append([]string{"--coalesce-window", "200ms", "--hub-url", h.url}, h.flags("hub", user{queue.RoleForward, name})...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	m := &fleetMember{l, t, name, l.Kube.Namespace(t)}
	makeApp(ctx, t, l, m.ns)
	wait(ctx, t, l, func(ctx context.Context) error {
		names, open, err := l.Reroll.Settled(ctx, m.ns)
		if err == nil && (len(names) != 1 || open > 0) {
			err = fmt.Errorf("%q are known, and %d lack a baseline", names, open)
		}
		return err
	})
	return m
}

// edit gives the ConfigMap a content of that number, and waits until the workload has it.
func (m *fleetMember) edit(ctx context.Context, n int) {
	m.t.Helper()
	before := m.generation(ctx)
	edit(ctx, m.t, m.Line, m.ns, n)
	wait(ctx, m.t, m.Line, func(ctx context.Context) error {
		if m.generation(ctx) == before {
			return errors.New("the workload has not rolled")
		}
		return nil
	})
}

func (m *fleetMember) generation(ctx context.Context) int64 {
	m.t.Helper()
	d, err := m.Kube.Client().AppsV1().Deployments(m.ns).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	return d.Generation
}

// load edits the ConfigMap again and again.
func (m *fleetMember) load(ctx context.Context) error {
	pace := time.NewTicker(200 * time.Millisecond)
	defer pace.Stop()
	for n := range edits {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pace.C:
		}
		if _, err := m.Kube.Client().CoreV1().ConfigMaps(m.ns).Update(ctx, configMap(fmt.Sprint(n+2)), metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// arrives waits until the hub has every change and reload that the cluster has on record. One that it has twice fails the test.
func (m *fleetMember) arrives(ctx context.Context, h *fleetHub) {
	m.t.Helper()
	wait(ctx, m.t, m.Line, func(ctx context.Context) error {
		own, err := recorded(ctx, m.Line)
		if err != nil {
			return err
		}
		at, err := h.ids(ctx, m.name)
		if err != nil {
			return err
		}
		for _, id := range own {
			if !at[id] {
				return fmt.Errorf("the hub lacks %s of %s", id, m.name)
			}
		}
		if len(own) == 0 {
			return fmt.Errorf("%s has nothing on record", m.name)
		}
		return nil
	})
}
