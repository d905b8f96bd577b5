package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/dashboard/showcase"
)

// views are all views, each with what is on it once it has its data.
var views = []struct{ name, path, has string }{
	{"timeline", "#/", "[data-row] .badge"},
	{"workloads", "#/workloads", "[data-row] .badge"},
	{"workload", "#/workloads/prod-eu/shop/Deployment/mailer", ".steps li >> nth=3"},
	{"impact", "#/impact", ".canvas .node >> nth=10"},
	{"config", "#/impact/prod-us/shop/ConfigMap/feature-flags", ".canvas .node.focus"},
	{"held", "#/held", ".card.bad"},
	{"clusters", "#/clusters", ".card >> nth=2"},
	{"charts", "#/charts", ".chart .fill.good"},
}

// serveFleet serves a fleet of which everything is known.
func serveFleet(t *testing.T, changes int) (*showcase.Fleet, string) {
	t.Helper()
	fleet := showcase.New(time.Now())
	fleet.Fill(changes)
	return fleet, serve(t, fleet, nil)
}

// serve serves the API over a fleet, behind what stands before it.
func serve(t *testing.T, fleet *showcase.Fleet, before func(http.Handler) http.Handler) string {
	t.Helper()
	handler, err := fleet.Handler()
	if err != nil {
		t.Fatal(err)
	}
	if before != nil {
		handler = before(handler)
	}
	return serveHandler(t, handler)
}

func serveHandler(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // streams of events would be waited for
	return server.URL + "/"
}

func TestViewsAreAccessibleInLightAndDarkOnDesksAndPhones(t *testing.T) {
	_, url := serveFleet(t, 400)
	b := startBrowser(t)
	for _, theme := range []string{"light", "dark"} {
		for _, s := range []size{desk, phone} {
			b.open(t, url, theme, s)
			for _, view := range views {
				b.do(t, "goto", params{"url": url + view.path})
				b.wait(t, view.has)
				name := view.name + "-" + theme + "-" + s.name
				b.accessible(t, name)
				b.shoot(t, name)
			}
			b.do(t, "goto", params{"url": url + "#/"})
			b.click(t, "a[data-row]")
			b.wait(t, ".panel .stages")
			b.accessible(t, "panel-"+theme+"-"+s.name)
			b.shoot(t, "panel-"+theme+"-"+s.name)
			b.faultless(t)
		}
	}
}

// A view is fetched again when its address is opened afresh: addresses can be sent to others.
func TestAddressesCanBeSentToOthers(t *testing.T) {
	fleet, url := serveFleet(t, 400)
	page, err := fleet.Records.Changes(projection.Place{}, 400, func(*reloader.Change) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	oldest := page.Items[len(page.Items)-1]
	b := startBrowser(t)
	for _, view := range views {
		b.open(t, url+view.path, "light", desk)
		b.wait(t, view.has)
	}
	b.open(t, url+"#/?open="+oldest.ID, "light", desk)
	b.wait(t, ".panel >> text="+oldest.ID)
	b.open(t, url+"#/?tone=bad&namespace=shop", "light", desk)
	b.wait(t, "[data-row] .badge.bad")
	// In one look: more rows are drawn at any time.
	b.until(t, `[...document.querySelectorAll('a[data-row]')].every((r) =>
		r.querySelector('.badge.bad') && [...r.querySelectorAll('.what .ns')].every((n) => n.innerText === 'shop/'))`)
	b.faultless(t)
}

// What would wait is told with why and until when, after what would roll.
func TestImpactTellsWhatWouldWait(t *testing.T) {
	_, url := serveFleet(t, 30)
	b := startBrowser(t)
	b.open(t, url+"#/impact/prod-us/shop/ConfigMap/feature-flags", "light", desk)
	for _, has := range []string{
		`dd >> text="1 workload would roll"`,
		`dd:has-text("Missing config"):has-text("Outside window"):has-text("Too soon")`,
		`tbody tr:first-child:has-text("cart"):has-text("Would roll")`,
		`tr:has-text("checkout") .fate:has-text("Missing config"):has-text("of Secret/shop/payments-api these keys are missing: api-key")`,
		`tr:has-text("storefront") .fate:has-text("Outside window"):has-text("at the earliest"):has-text("its own windows are CRON_TZ=UTC 0 3 1 1 * 1h")`,
		`tr:has-text("wishlist") .fate:has-text("Too soon"):has-text("at the earliest")`,
	} {
		b.wait(t, has)
	}
	b.faultless(t)
}

// A hub tells how much of a cluster is still to come; where there is none nothing is told.
func TestClustersTellHowFarTheyHaveCome(t *testing.T) {
	_, url := serveFleet(t, 1)
	b := startBrowser(t)
	b.open(t, url+"#/clusters", "light", desk)
	b.wait(t, `.card:has-text("prod-us") div:has(> dt:text("On its way here")):has-text("40 records, told")`)
	b.wait(t, `.card:has-text("prod-us") .numbers .warn:has-text("1 min 35 s lag")`)
	b.wait(t, `.card:has-text("prod-us") .numbers [title*="212 hints not done yet"]`)
	b.wait(t, `.card:has-text("prod-eu") .numbers span:not(.warn):has-text("0 s lag")`)
	b.until(t, `document.querySelectorAll('.card').length === 3 && document.body.innerText.split('On its way here').length === 2`)
	b.faultless(t)
}

func TestPageKeepsToItsPolicy(t *testing.T) {
	_, url := serveFleet(t, 1)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-row]")
	b.faultless(t)
	// The watch over violations must be able to see one.
	b.do(t, "evaluate", params{"script": `{const s = document.createElement('style'); s.textContent = 'b{}'; document.head.append(s);} 0`})
	b.until(t, "violations.length > 0")
	if faults := read[[]string](t, b, "faults", nil); len(faults) == 0 {
		t.Error("an inline style was no fault")
	}
}

// A dispatcher that dies sends no event any more; the page finds out by itself.
func TestClusterTurnsAwayUntouched(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(1)
	status := *fleet.Records.Clusters()[0].Status
	status.StoredAt = time.Now()
	fleet.Records.PutCluster(status)
	cluster := &turning{cluster: status.Cluster}
	url := serve(t, fleet, func(next http.Handler) http.Handler {
		cluster.next = next
		return cluster
	})
	b := startBrowser(t)
	b.openHurried(t, url+"#/clusters", 500, never)
	b.wait(t, "[data-link=live]")
	card := `.card:has(h2:has-text("` + status.Cluster + `")) .badge`
	b.wait(t, card+` >> text=Healthy`)
	b.lets(t, "1000") // what the beginning of the stream has asked for is asked for
	cluster.away.Store(true)
	b.wait(t, card+` >> text=Away`)
	b.shoot(t, "away")
	b.faultless(t)
}

// Configs of one name in several namespaces are rows of their own: what somebody has focused stays what it is when another goes.
func TestDependenciesOfOneNameAreToldApart(t *testing.T) {
	fleet, url := serveFleet(t, 1)
	w := workloadOf("cart")
	edges := func(namespaces ...string) (edges []reloader.Edge) {
		for _, n := range namespaces {
			edges = append(edges, reloader.Edge{Config: reloader.Config{Kind: reloader.Secret, Namespace: n, Name: "password"}, Why: reloader.ReasonNamed})
		}
		return edges
	}
	w.Edges = edges("added", "data", "shop")
	fleet.Records.PutWorkload(w)
	b := startBrowser(t)
	b.open(t, url+"#/workloads/prod-eu/added/Deployment/cart", "light", desk)
	rows := func(want string) string {
		return `[...document.querySelectorAll('[aria-label=Dependencies] tbody .ns')].map((n) => n.innerText).join('') === '` + want + `'`
	}
	b.until(t, rows("added/data/shop/"))
	b.wait(t, "[data-link=live]")
	b.do(t, "evaluate", params{"script": `document.querySelectorAll('[aria-label=Dependencies] tbody a')[1].focus(); 0`})
	w.Edges = edges("data", "shop")
	fleet.Records.PutWorkload(w)
	b.until(t, rows("data/shop/"))
	b.until(t, `document.activeElement.innerText.includes('data/')`)
	b.faultless(t)
}

// Whoever may look into one namespace alone names it, and every view shows what is there, live.
func TestOneNamespaceCanBeLookedAtAlone(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(200)
	handler, err := fleet.HandlerFor(staff{func(d api.Deed) bool { return d.Namespace == "platform" }})
	if err != nil {
		t.Fatal(err)
	}
	url := serveHandler(t, handler)
	b := startBrowser(t)
	for _, view := range []struct{ name, path, has string }{
		{"timeline", "#/", `[data-row]:has-text("platform/")`},
		{"workloads", "#/workloads", `[data-row]:has-text("gateway")`},
		{"impact", "#/impact", `.node:has-text("routes")`},
		{"held", "#/held", `.card`},
		{"charts", "#/charts", ".chart .fill.good"},
	} {
		for _, s := range []size{desk, phone} {
			b.openFailing(t, url+view.path, "dark", s)
			b.wait(t, `.blank:has-text("Ask for one with the parameter namespace") #scope`)
			b.do(t, "fill", params{"selector": "#scope", "text": "  "})
			b.press(t, "Enter")
			b.until(t, `document.activeElement.id === 'scope'`)
			name := view.name + "-" + s.name
			b.accessible(t, "forbidden-"+name)
			b.shoot(t, "scope-forbidden-"+name)
			b.do(t, "fill", params{"selector": "#scope", "text": "platform"})
			b.press(t, "Enter")
			b.wait(t, view.has)
			b.wait(t, `.scoped >> text=platform`)
			b.until(t, `location.hash.endsWith('?in=platform') && document.activeElement.id === 'main'`)
			b.accessible(t, "scope-"+name)
			b.shoot(t, "scope-"+name)
			b.faultless(t)
		}
	}
	// It stays when another view is gone to, goes on live, and can be left.
	b.press(t, "g", "t")
	b.wait(t, "[data-row]")
	b.wait(t, "[data-link=live]")
	before := read[string](t, b, "text", params{"selector": ".sum"})
	for fleet.Change(time.Now()).Config.Namespace != "platform" {
	}
	b.until(t, `document.querySelector('.sum').innerText !== '`+before+`'`)
	b.click(t, ".scoped button")
	b.wait(t, "#scope")
	b.gone(t, ".scoped")
	b.gone(t, "[data-row]")
	// Clusters are in no namespace, so that none can be named.
	b.press(t, "g", "c")
	b.wait(t, `.blank h2 >> text="You may not see clusters"`)
	b.gone(t, "#scope")
	b.faultless(t)
}

// Whoever may look into everything and names one namespace sees that one alone, in every view.
func TestNamespaceThatIsNamedIsAllThatIsShown(t *testing.T) {
	_, url := serveFleet(t, 200)
	b := startBrowser(t)
	for _, path := range []string{"#/", "#/workloads", "#/impact", "#/held", "#/charts"} {
		// Names of clusters are shown as those of namespaces are.
		const shown = `[...document.querySelectorAll('main .ns')].map((n) => n.innerText).filter((n) => !['prod-eu/', 'prod-us/', 'staging/'].includes(n))`
		b.open(t, url+path, "light", desk)
		b.until(t, shown+`.some((n) => n !== 'platform/')`)
		b.open(t, url+path+"?in=platform", "light", desk)
		b.wait(t, ".scoped")
		b.until(t, shown+`.includes('platform/')`)
		b.until(t, shown+`.every((n) => n === 'platform/')`)
		b.faultless(t)
	}
}

// staff is an Access whose only user may do what may says.
type staff struct{ may func(api.Deed) bool }

func (staff) Authenticate(*http.Request) (api.User, bool, error) {
	return api.User{Name: "carol@example.com"}, true, nil
}

func (s staff) Allowed(_ context.Context, _ api.User, d api.Deed) (bool, error) { return s.may(d), nil }
