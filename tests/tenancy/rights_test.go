package tenancy

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestRightsEndWithTheNamespace: the REST API tells the tenant nothing of what is elsewhere, not even whether it exists, and takes no command about it. The
// same questions about the tenant's own namespace are answered.
func TestRightsEndWithTheNamespace(t *testing.T) {
	who := newTenant(t)
	who.config(who.owner(), who.theirs)
	who.deploy(who.owner(), who.theirs, "web", map[string]string{"reroll.dev/auto": "true"}, nil)
	who.deploy(who.client, who.own, "web", map[string]string{"reroll.dev/auto": "true"}, nil)
	who.record(who.token, who.own, "web", 1)
	who.record(warden, who.theirs, "web", 1)
	who.rollTheirs(1)
	const cluster = "/api/v1/clusters/" + line.ClusterName
	config := func(ns string) string { return "/api/v1/configs/" + line.ClusterName + "/" + ns + "/ConfigMap/app" }
	answered := func(ns string) (paths []string) {
		for _, list := range []string{"changes", "reloads", "workloads", "configs", "dependencies", "graph", "timeline", "stats", "pauses", "held"} {
			paths = append(paths, "/api/v1/"+list+"?namespace="+ns)
		}
		return append(paths, pathOf(ns, "web"), pathOf(ns, "web")+"/explain", config(ns), config(ns)+"/impact")
	}
	own, theirs := answered(who.own), answered(who.theirs)
	who.await(func() error { return who.read(who.token, own[0], &struct{}{}) })
	for i, path := range theirs {
		code, answer := who.ask(who.token, http.MethodGet, path, nil)
		if control, said := who.ask(who.token, http.MethodGet, own[i], nil); code != http.StatusForbidden || control != http.StatusOK {
			t.Errorf("GET %s: %d %s; of the tenant's own: %d %s", path, code, answer, control, said)
		}
	}
	everything := []string{
		"/api/v1/changes", "/api/v1/events", "/api/v1/events?namespace=" + who.theirs, "/api/v1/clusters", cluster, "/api/v1/freezes",
		"/api/v1/reloads/" + who.reloads(who.theirs)[0].ID, "/api/v1/changes/" + who.changes(who.theirs)[0].ID, "/api/v1/reloads/r-none", "/api/v1/changes/c-none",
	}
	for _, path := range everything {
		if code, answer := who.ask(who.token, http.MethodGet, path, nil); code != http.StatusForbidden {
			t.Errorf("GET %s: %d %s", path, code, answer)
		}
	}
	_, there := who.ask(who.token, http.MethodGet, pathOf(who.theirs, "web"), nil)
	if _, absent := who.ask(who.token, http.MethodGet, pathOf(who.theirs, "absent"), nil); there != strings.ReplaceAll(absent, "absent", "web") {
		t.Errorf("of a workload that exists: %s; of one that does not: %s", there, absent)
	}
	who.noCommand(config(who.theirs), cluster)
}

// noCommand gives commands about the other namespace, which all are refused, and one about the tenant's own.
func (who *tenant) noCommand(config, cluster string) {
	who.t.Helper()
	pause := func(ns string) map[string]any {
		return map[string]any{"namespace": ns, "until": time.Now().Add(time.Hour)}
	}
	for path, body := range map[string]any{
		pathOf(who.theirs, "web") + "/reload": nil, pathOf(who.theirs, "web") + "/retry": nil, config + "/retry": nil,
		cluster + "/freeze": map[string]any{}, cluster + "/thaw": nil, cluster + "/pause": pause(who.theirs), cluster + "/resume": map[string]any{"namespace": who.theirs},
	} {
		if code, answer := who.ask(who.token, http.MethodPost, path, body); code != http.StatusForbidden {
			who.t.Errorf("POST %s: %d %s", path, code, answer)
		}
	}
	if code, answer := who.ask(who.token, http.MethodPost, pathOf(who.own, "web")+"/reload", nil); code != http.StatusOK {
		who.t.Errorf("a reload of the tenant's own: %d %s", code, answer)
	}
	who.rollTheirs(2)
}
