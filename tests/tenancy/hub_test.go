package tenancy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// hubAPI is the API of a hub, whose users are those of the shared API server.
type hubAPI struct {
	*tenant
	*line.Reroll
	// queues are those of the clusters.
	queues map[string]*queue.Queue
}

// known are the IDs of a change and of a reload of a namespace.
type known struct{ change, reload string }

var settings = reloader.Config{Kind: reloader.ConfigMap, Name: "settings"}

// TestRightsAtAHub: users of groups that the API server names see what the lines of their group say, of records that clusters have forwarded, in every
// operation; a user without a line sees nothing, whatever the API server lets them do.
func TestRightsAtAHub(t *testing.T) {
	who := newTenant(t)
	shop, ops := shared.Kube.Namespace(t), shared.Kube.Namespace(t)
	lines := []string{"system:serviceaccounts:" + shop + " prod-*/shop", "system:serviceaccounts:" + shop + " test-1/ban?", "system:serviceaccounts:" + ops + " prod-1/*"}
	h := startHub(t, who, []string{"prod-1", "prod-2", "test-1"}, lines)
	places := map[string]known{}
	for _, cluster := range slices.Sorted(maps.Keys(h.queues)) {
		for _, namespace := range []string{"shop", "bank"} {
			places[cluster+"/"+namespace] = h.forwards(cluster, namespace, 1)
		}
	}
	users := []struct {
		name, token string
		sees        []string
	}{
		{"shop", who.user(shop), []string{"prod-1/shop", "prod-2/shop", "test-1/bank"}},
		{"ops", who.user(ops), []string{"prod-1/bank", "prod-1/shop"}},
		{"without a line", warden, nil}, // the API server lets them do everything
	}
	for _, user := range users {
		t.Run(user.name, func(t *testing.T) {
			h.Await("it to come", func(context.Context) error { return h.lists(user.token, user.sees) })
			for place, ids := range places {
				h.shows(user.token, place, ids, slices.Contains(user.sees, place))
			}
		})
	}
	none, opsHears, shopHears := h.hears(warden), h.hears(users[1].token), h.hears(users[0].token)
	h.forwards("test-1", "bank", 2)
	h.next(shopHears) // later than the others would hear of it
	if len(none)+len(opsHears) > 0 {
		t.Errorf("%d and %d events about what is not shown", len(none), len(opsHears))
	}
}

// user makes a user of the group of a namespace, and returns their token.
func (who *tenant) user(ns string) string {
	who.T.Helper()
	token, err := account(who.Ctx(), ns, "user")
	who.Must(err)
	return token
}

// startHub starts a hub with its API, and a member for each cluster.
func startHub(t *testing.T, who *tenant, clusters, rights []string) *hubAPI {
	t.Helper()
	_, err := shared.Kube.Kubectl(who.Ctx(), "create", "clusterrolebinding", who.own, "--clusterrole=system:auth-delegator", "--user="+who.own)
	who.Must(err)
	kubeconfig, err := shared.Kube.UserKubeconfig(who.own)
	who.Must(err)
	file := filepath.Join(t.TempDir(), "reroll.yaml")
	who.Must(os.WriteFile(file, []byte("api:\n  rights:\n    - "+strings.Join(rights, "\n    - ")), 0o600))
	nats := natsserver.StartHub(t, clusters)
	flags := []string{
		"--set", "nats.url=" + nats.ClientURL(), "--set", "nats.user=" + natsserver.HubUser, "--set", "nats.passwordFile=" + natsserver.PasswordFile(t),
		"--set", "api.auth=token", "--config", file, "--set", "kubernetes.kubeconfig=" + kubeconfig,
	}
	h := &hubAPI{tenant: who, queues: map[string]*queue.Queue{}}
	h.Reroll, err = line.StartAPI(who.Ctx(), flags...)
	who.Must(err)
	t.Cleanup(h.Kill)
	for _, cluster := range clusters {
		h.join(nats.ClientURL(), cluster)
	}
	return h
}

// join has a cluster forward until the test ends.
func (h *hubAPI) join(url, cluster string) {
	h.T.Helper()
	quiet := slog.New(slog.DiscardHandler)
	q, err := queue.Open(h.Ctx(), queue.Options{StoreDir: h.T.TempDir(), MaxStore: 64 << 20, Logger: quiet})
	h.Must(err)
	member, err := hub.New(q, hub.Options{Hub: natsserver.Login(h.T, url, cluster), Cluster: cluster, UID: "uid-" + cluster, Logger: quiet})
	h.Must(err)
	ctx, end := context.WithCancel(context.WithoutCancel(h.Ctx()))
	done := make(chan error, 1)
	go func() { done <- member.Run(ctx, hub.Following{}) }()
	h.T.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			h.T.Error(err)
		}
		if err := q.Close(context.WithoutCancel(h.Ctx())); err != nil {
			h.T.Error(err)
		}
	})
	h.queues[cluster] = q
}

// forwards has a cluster store its nth change of a namespace with what came of it.
func (h *hubAPI) forwards(cluster, namespace string, n int) known {
	h.T.Helper()
	c := reloader.Change{Cluster: cluster, Config: settings, Type: reloader.ChangeUpdated, New: reloader.Digest{KeyID: "k", Sum: fmt.Sprintf("%064d", n)}, VerifiedAt: time.Now()}
	c.Config.Namespace = namespace
	c.ID = reloader.ChangeID(c)
	w := reloader.WorkloadRef{Kind: "Deployment", Namespace: namespace, Name: "web"}
	r := reloader.Reload{ID: "r-" + c.ID, Cluster: cluster, Workload: w, Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{{ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto}}}
	r.DecidedAt, r.PatchedAt = time.Now(), time.Now()
	q := h.queues[cluster]
	h.Must(q.PutWorkload(h.Ctx(), reloader.WorkloadRecord{Cluster: cluster, Workload: w, UpdatedAt: time.Now(), Edges: []reloader.Edge{{Config: c.Config, Why: reloader.ReasonAuto}}}))
	h.Must(q.AppendReload(h.Ctx(), r))
	h.Must(q.AppendChange(h.Ctx(), c))
	return known{c.ID, r.ID}
}

// at asks the API of the hub.
func (h *hubAPI) at(token, method, path string, body any) (code int, answer string) {
	h.T.Helper()
	return h.askAt(h.API, token, method, "/api/v1/"+path, body)
}

// lists returns an error unless each listing has records of those places and of no other.
func (h *hubAPI) lists(token string, want []string) error {
	h.T.Helper()
	for _, listing := range []string{"changes", "reloads", "workloads"} {
		code, answer := h.at(token, http.MethodGet, listing, nil)
		var page struct {
			Items []struct {
				Cluster  string
				Config   struct{ Namespace string }
				Workload struct{ Namespace string }
			}
			Warnings []string
		}
		if err := json.Unmarshal([]byte(answer), &page); err != nil || code != http.StatusOK {
			return fmt.Errorf("%s: %d %s", listing, code, answer)
		}
		var got []string
		for _, item := range page.Items {
			got = append(got, item.Cluster+"/"+item.Config.Namespace+item.Workload.Namespace)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("%s shows %v, want %v", listing, got, want)
		}
		if told := strings.Contains(fmt.Sprint(page.Warnings), "Nothing is shown to you"); told != (len(want) == 0) {
			return fmt.Errorf("%s warns of %q", listing, page.Warnings)
		}
	}
	return nil
}

// shows fails the test unless what asks about one place is answered, or is as if there were nothing.
func (h *hubAPI) shows(token, place string, ids known, want bool) {
	h.T.Helper()
	cluster, namespace, _ := strings.Cut(place, "/")
	code := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[want]
	for _, path := range []string{"changes/" + ids.change, "reloads/" + ids.reload, "workloads/" + place + "/Deployment/web"} {
		got, answer := h.at(token, http.MethodGet, path, nil)
		if got != code || strings.Contains(answer, `"cluster":"`+cluster+`"`) != want {
			h.T.Errorf("GET %s: %d %s, want %d", path, got, answer, code)
		}
	}
	question := map[string]any{"configs": []any{map[string]string{"cluster": cluster, "kind": "ConfigMap", "namespace": namespace, "name": "settings"}}}
	if got, answer := h.at(token, http.MethodPost, "impact", question); (got == http.StatusOK) != want || !want && got != http.StatusForbidden || want != strings.Contains(answer, `"web"`) {
		h.T.Errorf("impact of %s: %d %s", place, got, answer)
	}
}

// next waits for an event.
func (h *hubAPI) next(events <-chan string) {
	h.T.Helper()
	select {
	case <-events:
	case <-h.Ctx().Done():
		h.T.Fatal("no event")
	}
}

// hears returns the events about records of a stream after the first, which names every listing.
func (h *hubAPI) hears(token string) <-chan string {
	h.T.Helper()
	request, err := http.NewRequestWithContext(h.Ctx(), http.MethodGet, h.API+"/api/v1/events", nil)
	h.Must(err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	h.Must(err)
	h.T.Cleanup(func() { _ = response.Body.Close() })
	events, first := make(chan string, 100), make(chan struct{})
	go func() {
		lines := bufio.NewScanner(response.Body)
		for n := 0; lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if n++; n == 1 {
					close(first)
				} else if strings.Contains(data, "workloads") {
					events <- data
				}
			}
		}
	}()
	<-first
	return events
}
