package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

func TestParseRight(t *testing.T) {
	for line, want := range map[string]Right{
		"team-shop prod-*/shop":             {"team-shop", "prod-*", "shop"},
		" Domain Admins  */* ":              {"Domain Admins", "*", "*"},
		"system:serviceaccounts:ops c1/a-?": {"system:serviceaccounts:ops", "c1", "a-?"},
	} {
		if got, err := ParseRight(line); err != nil || got != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "team", "team c1", "team c1/", "team /shop", "team c1/a/b", "team [/shop", " c1/shop"} {
		if got, err := ParseRight(line); err == nil {
			t.Errorf("%q is taken for %+v", line, got)
		}
	}
}

// groups is an Access whose users are named after the one group that each is in. The API server would allow them everything.
type groups struct{ door }

func (g groups) Authenticate(r *http.Request) (User, bool, error) {
	name := r.Header.Get("Authorization")
	return User{Name: name, Groups: []string{name}}, name != "", nil
}

var (
	hubClusters   = []string{"prod-1", "prod-2", "test-1"}
	hubNamespaces = []string{"shop", "bank"}
)

// newHub returns the API of a hub with these clusters, each with one change, reload and workload in each namespace.
func newHub(t *testing.T, rights ...string) *fixture {
	t.Helper()
	f := newFixture(t)
	n := uint64(0)
	for _, cluster := range hubClusters {
		status := aStatus()
		status.Cluster, status.At = cluster, time.Now()
		f.records.PutCluster(status)
		for _, namespace := range hubNamespaces {
			n++
			c, r, w := aChange(int(n)), aReload(int(n)), aWorkload(namespace, "cart")
			c.Cluster, c.Config.Namespace, c.VerifiedAt = cluster, namespace, time.Now()
			c.ID = reloader.ChangeID(c)
			r.ID, r.Cluster, r.Workload.Namespace, r.DecidedAt = fmt.Sprintf("r-%s-%s", cluster, namespace), cluster, namespace, time.Now()
			r.Causes[0].ChangeID = c.ID
			w.Cluster, w.Edges = cluster, []reloader.Edge{{Config: c.Config, Why: reloader.ReasonAuto, Pending: c.ID}}
			f.records.AddChange(n, c)
			f.records.AddReload(n, r)
			f.records.PutWorkload(w)
		}
		f.records.PutPosition(cluster, reloader.Position{Of: "STATE", Sequence: 1})
	}
	o := Options{Access: groups{door{allowed: everything}}, Logger: slog.New(slog.DiscardHandler)}
	for _, line := range rights {
		r, err := ParseRight(line)
		must(t, err)
		o.Rights = append(o.Rights, r)
	}
	f.guardWith(t, o)
	return f
}

var hubLines = []string{"platform */*", "prod prod-*/*", "shop */shop", "one prod-1/shop", "one test-1/ban?", "other nowhere/*"}

// TestRightsAtAHub: each operation shows each group what its lines say, of each cluster and namespace, and nothing else.
func TestRightsAtAHub(t *testing.T) {
	all := func(string, string) bool { return true }
	none := func(string, string) bool { return false }
	sees := map[string]func(cluster, namespace string) bool{
		"platform": all,
		"prod":     func(cluster, _ string) bool { return strings.HasPrefix(cluster, "prod") },
		"shop":     func(_, namespace string) bool { return namespace == "shop" },
		"one": func(cluster, namespace string) bool {
			return cluster+namespace == "prod-1shop" || cluster+namespace == "test-1bank"
		},
		"other":    none,
		"stranger": none,
	}
	whole := map[string]func(string, string) bool{"platform": all, "prod": sees["prod"]}
	f := newHub(t, hubLines...)
	for group, may := range sees {
		for _, cluster := range hubClusters {
			t.Run(group+"/"+cluster, func(t *testing.T) {
				for _, namespace := range hubNamespaces {
					f.shows(t, group, cluster, namespace, may(cluster, namespace))
				}
				clusters := strings.Contains(f.as(t, group, http.MethodGet, "/api/v1/clusters", "").Body.String(), `"name":"`+cluster+`"`)
				if want := whole[group] != nil && whole[group](cluster, ""); clusters != want {
					t.Errorf("the cluster is listed: %t", clusters)
				}
			})
		}
		body := f.as(t, group, http.MethodGet, "/api/v1/reloads", "").Body.String()
		if told := strings.Contains(body, "Nothing is shown to you"); told != (group == "other" || group == "stranger") {
			t.Errorf("%s: %s", group, body)
		}
	}
}

// shows asks every operation about one namespace of one cluster, both alone and among all.
func (f *fixture) shows(t *testing.T, group, cluster, namespace string, want bool) {
	t.Helper()
	place, mark := cluster+" "+namespace, `"cluster":"`+cluster+`"`
	in := "?cluster=" + cluster + "&namespace=" + namespace
	for _, listing := range []string{"changes", "reloads", "workloads"} {
		for _, query := range []string{in, ""} {
			var page struct {
				Items []struct {
					Cluster  string
					Config   struct{ Namespace string }
					Workload struct{ Namespace string }
				}
			}
			w := f.as(t, group, http.MethodGet, "/api/v1/"+listing+query, "")
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%s of %s: %d %v", listing, place, w.Code, err)
			}
			found := false
			for _, item := range page.Items {
				found = found || item.Cluster == cluster && (item.Config.Namespace == namespace || item.Workload.Namespace == namespace)
			}
			if found != want {
				t.Errorf("%s%s shows %s: %t", listing, query, place, found)
			}
		}
	}
	code := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[want]
	for _, path := range []string{"workloads/" + cluster + "/" + namespace + "/Deployment/cart", "reloads/r-" + cluster + "-" + namespace, "changes/" + f.changeIn(cluster, namespace)} {
		if w := f.as(t, group, http.MethodGet, "/api/v1/"+path, ""); w.Code != code || want != strings.Contains(w.Body.String(), mark) {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	body := f.as(t, group, http.MethodGet, "/api/v1/stats"+in, "").Body.String()
	if strings.Contains(body, `"total":{"changes":1,`) != want {
		t.Errorf("stats of %s: %.200s", place, body)
	}
	question := fmt.Sprintf(`{"configs":[{"cluster":%q,"kind":"ConfigMap","namespace":%q,"name":"settings"}]}`, cluster, namespace)
	if w := f.as(t, group, http.MethodPost, "/api/v1/impact", question); (w.Code == http.StatusOK) != want || !want && w.Code != http.StatusForbidden {
		t.Errorf("impact of %s: %d", place, w.Code)
	}
}

func (f *fixture) changeIn(cluster, namespace string) (id string) {
	page, err := f.records.Changes("", 1, func(c *reloader.Change) bool { return c.Cluster == cluster && c.Config.Namespace == namespace })
	if err != nil || len(page.Items) == 0 {
		return ""
	}
	return page.Items[0].ID
}

// TestEventsRespectRights: a stream tells of news in what its reader sees alone.
func TestEventsRespectRights(t *testing.T) {
	a := &server{records: projection.New(projection.Limits{}), access: groups{}}
	for _, line := range hubLines {
		r, err := ParseRight(line)
		must(t, err)
		a.rights = append(a.rights, r)
	}
	for _, tc := range []struct {
		group              string
		topic              projection.Topic
		cluster, namespace string
		told               bool
	}{
		{"one", projection.TopicChanges, "prod-1", "shop", true},
		{"one", projection.TopicChanges, "prod-1", "bank", false},
		{"one", projection.TopicWorkloads, "prod-2", "shop", false},
		{"one", projection.TopicClusters, "prod-1", "", false},
		{"prod", projection.TopicClusters, "prod-1", "", true},
		{"prod", projection.TopicClusters, "test-1", "", false},
		{"stranger", projection.TopicReloads, "test-1", "bank", false},
	} {
		ctx := context.WithValue(t.Context(), userKey{}, User{Name: "alice", Groups: []string{tc.group}})
		if got := a.interest(ctx, EventFilter{})(tc.topic, tc.cluster, tc.namespace); got != tc.told {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

// TestEventsAboutClusters: without rights of the API's own, a stream tells of news about clusters those who may watch them.
func TestEventsAboutClusters(t *testing.T) {
	for name, allowed := range map[string]func(User, Deed) (bool, error){"may": everything, "may not": inShop} {
		a := &server{records: projection.New(projection.Limits{}), access: door{allowed: allowed}, cluster: "local"}
		ctx := context.WithValue(t.Context(), userKey{}, User{Name: "alice"})
		if got := a.interest(ctx, EventFilter{})(projection.TopicClusters, "local", ""); got != (name == "may") {
			t.Errorf("%s see clusters: %t", name, got)
		}
	}
}

// TestWithoutALineNothingIsShown: rights on the API server next to a hub count for no other cluster, also for one with the name of that one.
func TestWithoutALineNothingIsShown(t *testing.T) {
	hubClusters = append(hubClusters, "local")
	defer func() { hubClusters = hubClusters[:3] }()
	f := newHub(t)
	for _, cluster := range hubClusters {
		for _, namespace := range hubNamespaces {
			f.shows(t, "system:masters", cluster, namespace, false)
		}
	}
	if body := f.as(t, "root", http.MethodGet, "/api/v1/clusters", "").Body.String(); !strings.Contains(body, `"items":[]`) || !strings.Contains(body, "Nothing is shown to you") {
		t.Errorf("clusters: %s", body)
	}
}

// TestFollowersOfOthersAreLeftOut: what rolled in another cluster for a change of one's own is shown to those who see that cluster.
func TestFollowersOfOthersAreLeftOut(t *testing.T) {
	f := newHub(t, hubLines...)
	id := f.changeIn("prod-1", "shop")
	follower := aReload(99)
	follower.ID, follower.Cluster, follower.Message = "r-follower", "prod-2", "of prod-2"
	follower.Causes[0].ChangeID, follower.Causes[0].Config.Cluster = id, "prod-1"
	f.records.AddReload(99, follower)
	for group, want := range map[string]bool{"platform": true, "shop": true, "one": false} {
		var w *httptest.ResponseRecorder
		for _, path := range []string{"/api/v1/changes/" + id, "/api/v1/changes?cluster=prod-1&namespace=shop"} {
			if w = f.as(t, group, http.MethodGet, path, ""); strings.Contains(w.Body.String(), "of prod-2") != want {
				t.Errorf("%s: GET %s: %s", group, path, w.Body)
			}
		}
		if told := strings.Contains(w.Body.String(), "left out"); told == want {
			t.Errorf("%s is told that something is left out: %t", group, told)
		}
	}
}
