package dashboard

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/dashboard/showcase"
)

// serveTwins serves a fleet in which a workload of one name is in two clusters, one of them named local; both are held.
func serveTwins(t *testing.T) (*showcase.Fleet, string) {
	t.Helper()
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	local := *fleet.Records.Clusters()[0].Status
	local.Cluster, local.UID = "local", "uid-of-local"
	fleet.Records.PutCluster(local)
	for i, cluster := range []string{"local", "prod-eu"} {
		w := workloadOf("twin")
		w.Cluster, w.UID = cluster, "twin-"+cluster
		w.Edges = []reloader.Edge{{Config: reloader.Config{Kind: reloader.Secret, Namespace: "added", Name: "twin-config"}, Why: reloader.ReasonNamed}}
		w.Hold = &reloader.Hold{Reason: reloader.ReasonRefused, Since: time.Now()}
		fleet.Records.PutWorkload(w)
		for n := range 30 {
			c := reloader.Change{
				ID: "twin-" + cluster + strconv.Itoa(n), Cluster: cluster, Config: w.Edges[0].Config, Type: reloader.ChangeUpdated, UID: "u",
				ResourceVersion: strconv.Itoa(n), Source: reloader.SourceSweep, VerifiedAt: time.Now().Add(-time.Duration(2*n+i) * time.Second),
			}
			fleet.Records.AddChange(uint64(1_000_000+100*i+n), c)
		}
	}
	return fleet, serve(t, fleet, nil)
}

// Where there are several clusters every view names those of what it shows, also one that is named local.
func TestClustersAreNamedInAFleet(t *testing.T) {
	_, url := serveTwins(t)
	b := startBrowser(t)
	for _, view := range []struct{ path, item string }{
		{"#/", `[data-row]:has-text("twin-config")`},
		{"#/workloads", `[data-row]:has-text("twin")`},
		{"#/held", `.card:has-text("twin")`},
		{"#/impact", `tr:has-text("twin-config"):has-text("twin")`},
		{"#/charts", `.top li:has-text("twin-config")`},
	} {
		b.open(t, url+view.path, "light", desk)
		for _, cluster := range []string{"local", "prod-eu"} {
			b.wait(t, view.item+`:has-text("`+cluster+`")`)
		}
		b.faultless(t)
	}
}

// The numbers on the card of a cluster lead to lists of that cluster alone, and every list can be narrowed to one.
func TestListsOfOneCluster(t *testing.T) {
	_, url := serveTwins(t)
	b := startBrowser(t)
	b.open(t, url+"#/clusters", "light", desk)
	for label, want := range map[string]string{
		"opted in": "#/workloads?cluster=prod-us", "pending": "#/workloads?cluster=prod-us&condition=attention", "held": "#/held?cluster=prod-us",
	} {
		b.do(t, "goto", params{"url": url + "#/clusters"})
		b.click(t, `.card:has(h2:has-text("prod-us")) .numbers a:has-text("`+label+`")`)
		b.until(t, `location.hash === '`+want+`'`)
		b.wait(t, `select[aria-label="Cluster"].chosen`)
	}
	for _, view := range []struct{ path, has, hasNot string }{
		{"#/workloads?cluster=prod-us", `[data-row]:has-text("wishlist")`, `[data-row]:has-text("twin")`},
		{"#/held?cluster=prod-us", `.card:has-text("prod-us/")`, `.card:has-text("twin")`},
		{"#/impact?cluster=prod-us", `.node:has-text("wishlist")`, `.node:has-text("twin")`},
		{"#/charts?cluster=prod-us", `.top li:has-text("prod-us/")`, `.top li:has-text("twin")`},
	} {
		b.do(t, "goto", params{"url": url + view.path})
		b.wait(t, view.has)
		b.gone(t, view.hasNot)
		b.do(t, "select", params{"selector": `select[aria-label="Cluster"]`, "text": "local"})
		b.until(t, `location.hash.includes('cluster=local')`)
	}
	b.faultless(t)
}

// What is told live is merged into lists: nothing is listed again.
func TestEventsAreMergedIntoLists(t *testing.T) {
	for path, asking := range map[string]*asking{
		"#/workloads": {path: "/api/v1/workloads"},
		"#/held":      {path: "/api/v1/workloads"},
		"#/clusters":  {path: "/api/v1/clusters"},
		"#/workloads/prod-eu/added/Deployment/late": {path: "/api/v1/workloads/prod-eu/added/Deployment/late"},
	} {
		t.Run(path, func(t *testing.T) {
			fleet := showcase.New(time.Now())
			fleet.Fill(30)
			fleet.Records.PutWorkload(workloadOf("late"))
			b := startBrowser(t)
			b.openHurried(t, serve(t, fleet, asking.before)+path, never, never)
			b.wait(t, "h1")
			b.wait(t, "[data-link=live]")
			b.lets(t, "1500") // what was told by neither the first answer nor the stream is asked for
			before := asking.asked.Load()
			w := workloadOf("late")
			for _, reason := range []reloader.Reason{reloader.ReasonTooSoon, reloader.ReasonFrozen} {
				w.Hold = &reloader.Hold{Reason: reason, Since: time.Now()}
				fleet.Records.PutWorkload(w)
			}
			status := *fleet.Records.Clusters()[0].Status
			status.Version, status.At, status.StoredAt = "v9.9.9", time.Now(), time.Now()
			fleet.Records.PutCluster(status)
			if path == "#/clusters" {
				b.wait(t, `.card:has-text("v9.9.9")`)
			} else {
				b.wait(t, `main :text-is("Frozen")`)
				b.wait(t, `.page:has-text("late"), .row:has-text("late") .badge:has-text("Frozen")`)
			}
			w.Hold = nil
			fleet.Records.PutWorkload(w)
			if path == "#/held" {
				b.gone(t, `.card:has-text("late")`)
			}
			b.lets(t, "1000")
			if asked := asking.asked.Load() - before; asked != 0 {
				t.Errorf("%s was asked for %d times more", asking.path, asked)
			}
			b.faultless(t)
		})
	}
}

// How much waits for somebody is said beside the views that tell more, and above the timeline, live.
func TestWhatNeedsAttentionIsSeenFromEverywhere(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(60)
	page := fleet.Records.Workloads(projection.WorkloadKey{}, 1000, func(w *reloader.WorkloadRecord) bool { return w.Hold != nil })
	held := len(page.Items)
	url := serve(t, fleet, nil)
	b := startBrowser(t)
	for _, s := range []size{desk, phone} {
		b.open(t, url, "light", s)
		b.wait(t, `nav a:has-text("Held") .count.bad:has-text("`+strconv.Itoa(held)+`")`)
		b.wait(t, `nav a:has-text("Clusters") .count.bad:has-text("! 1")`)
		b.wait(t, `.overview a[href="#/clusters"]:text-is("3 clusters, 1 degraded")`)
		b.wait(t, `.overview a[href="#/held"]:text-is("`+strconv.Itoa(held)+` held, 1 needs you")`)
		b.wait(t, `.overview a:text-is("staging frozen, ends in 2 d")`)
		b.accessible(t, "overview-"+s.name)
		b.shoot(t, "overview-"+s.name)
	}
	w := workloadOf("late")
	w.Hold = &reloader.Hold{Reason: reloader.ReasonFrozen, Since: time.Now()}
	b.wait(t, "[data-link=live]")
	fleet.Records.PutWorkload(w)
	b.wait(t, `nav .count:has-text("`+strconv.Itoa(held+1)+`")`)
	b.wait(t, `.overview a:text-is("`+strconv.Itoa(held+1)+` held, 1 needs you")`)
	b.faultless(t)
	t.Run("who may not see clusters is told of what they may see", func(t *testing.T) {
		url := serve(t, fleet, answering(http.StatusForbidden, `{"status":403}`, func(r *http.Request) bool { return r.URL.Path == "/api/v1/clusters" }))
		b.openFailing(t, url, "light", desk)
		b.wait(t, `.overview a:has-text("held, 1 needs you")`)
		b.until(t, `document.querySelectorAll('.overview a').length === 1`)
		b.faultless(t)
	})
}
