package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/dashboard/showcase"
)

// staff lets everybody in as one user, who may do what may says.
type staff struct{ may func(api.Deed) bool }

func (staff) Authenticate(*http.Request) (api.User, bool, error) {
	return api.User{Name: "dana@example.com"}, true, nil
}

func (s staff) Allowed(_ context.Context, _ api.User, d api.Deed) (bool, error) { return s.may(d), nil }

// answers carries out each command by taking the next answer that a test has for it.
type answers chan reloader.CommandAnswer

func (a answers) Command(ctx context.Context, c reloader.Command) (reloader.CommandAnswer, error) {
	select {
	case answer := <-a:
		answer.ID, answer.Cluster = c.ID, c.Cluster
		return answer, nil
	case <-ctx.Done():
		return reloader.CommandAnswer{}, ctx.Err()
	}
}

// serveStaff serves a whole fleet for somebody who may do what may says, and returns who answers their commands.
func serveStaff(t *testing.T, may func(api.Deed) bool) (string, answers) {
	t.Helper()
	fleet := showcase.New(time.Now())
	fleet.Fill(60)
	commands := make(answers)
	handler, err := fleet.HandlerFor(staff{may}, commands)
	if err != nil {
		t.Fatal(err)
	}
	return serveHandler(t, handler), commands
}

// acting are the views that have something to do on them, each with its buttons. What the last one asks is looked at.
var acting = []struct {
	name, path string
	buttons    []string
}{
	{"workload", "#/workloads/prod-eu/shop/Deployment/mailer", []string{"Reload now", "Try again", "Pause shop…"}},
	{"held", "#/held", []string{"Resume", "Try again", "Thaw"}},
	{"clusters", "#/clusters", []string{"Pause…", "Thaw", "Freeze…"}},
}

func button(label string) string { return `button:text-is("` + label + `")` }

func TestOrdersAreAccessibleInLightAndDarkOnDesksAndPhones(t *testing.T) {
	url, _ := serveStaff(t, func(api.Deed) bool { return true })
	b := startBrowser(t)
	for _, theme := range []string{"light", "dark"} {
		for _, s := range []size{desk, phone} {
			b.open(t, url, theme, s)
			for _, view := range acting {
				b.do(t, "goto", params{"url": url + view.path})
				for _, label := range view.buttons {
					b.wait(t, button(label))
				}
				name := "orders-" + view.name + "-" + theme + "-" + s.name
				b.accessible(t, name)
				b.shoot(t, name)
				b.click(t, button(view.buttons[len(view.buttons)-1]))
				b.wait(t, "dialog[open] form")
				b.accessible(t, name+"-asked")
				b.shoot(t, name+"-asked")
				b.press(t, "Escape")
				b.gone(t, "dialog")
			}
			b.faultless(t)
		}
	}
}

// What is being done, what failed and what was done is said; nothing is done twice by asking again.
func TestOrderTellsHowFarItIs(t *testing.T) {
	url, commands := serveStaff(t, func(api.Deed) bool { return true })
	b := startBrowser(t)
	for _, theme := range []string{"light", "dark"} {
		b.openFailing(t, url+"#/workloads/prod-eu/shop/Deployment/cart", theme, desk)
		b.click(t, button("Reload now"))
		b.do(t, "fill", params{"selector": "dialog input", "text": "new certificates"})
		b.press(t, "Enter")
		b.wait(t, `dialog form[aria-busy="true"] progress`)
		b.wait(t, `dialog button.main:disabled:text-is("Reloading…")`)
		b.accessible(t, "busy-"+theme)
		b.shoot(t, "orders-busy-"+theme)
		commands <- reloader.CommandAnswer{Result: reloader.CommandRefused, Message: "Deployment shop/cart is paused"}
		b.wait(t, `dialog [role=alert]:text-is("Deployment shop/cart is paused")`)
		b.accessible(t, "refused-"+theme)
		b.shoot(t, "orders-refused-"+theme)
		b.click(t, `dialog `+button("Try again"))
		commands <- reloader.CommandAnswer{Result: reloader.CommandDone, ReloadID: "r-9", Outcome: reloader.ReasonReloaded}
		b.gone(t, "dialog")
		b.wait(t, `.note:has-text("cart was reloaded.")`)
		b.until(t, `document.querySelector('[aria-live=polite]').textContent === 'cart was reloaded.'`)
		b.until(t, `document.activeElement.innerText === 'Reload now'`)
		b.accessible(t, "done-"+theme)
		b.shoot(t, "orders-done-"+theme)
		b.click(t, `.note button`)
		b.gone(t, ".note")
		b.faultless(t)
	}
}

// TestGoOnIsOfferedByTheRightToConfigs: to let the change of a config go on takes the right to retry configs where the config is. The right to
// try workloads again neither gives nor takes it.
func TestGoOnIsOfferedByTheRightToConfigs(t *testing.T) {
	b := startBrowser(t)
	for name, tc := range map[string]struct {
		resource, namespace string
		want                int
	}{
		"to configs":         {"configs", "shop", 1},
		"to all configs":     {"configs", "", 1},
		"to workloads":       {"workloads", "shop", 0},
		"to configs in vain": {"configs", "payments", 0},
	} {
		t.Run(name, func(t *testing.T) {
			url := serveHalted(t, staff{func(d api.Deed) bool {
				return d.Verb != "retry" || d.Resource == tc.resource && (d.Namespace == tc.namespace || tc.namespace == "")
			}})
			for _, path := range []string{"#/held", "#/workloads/prod-eu/shop/Deployment/cart"} {
				b.open(t, url+path, "light", desk)
				b.wait(t, `main :has-text("did not roll out on canary")`)
				if tc.want > 0 {
					b.wait(t, button("Go on with feature-flags"))
				} else {
					b.until(t, asked)
				}
				if got := read[int](t, b, "evaluate", params{"script": `[...document.querySelectorAll('main button')].filter((x) => x.innerText === 'Go on with feature-flags').length`}); got != tc.want {
					t.Errorf("%d buttons on %s, want %d", got, path, tc.want)
				}
				b.faultless(t)
			}
		})
	}
}

// serveHalted serves a fleet whose cart waits for a change that did not roll out elsewhere.
func serveHalted(t *testing.T, who staff) string {
	t.Helper()
	fleet := showcase.New(time.Now())
	fleet.Fill(60)
	w, ok := fleet.Records.Workload(projection.WorkloadKey{Cluster: "prod-eu", Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}})
	page, err := fleet.Records.Changes(projection.Place{}, 1, func(c *reloader.Change) bool { return c.Cluster == "prod-eu" && c.Config.Name == "feature-flags" })
	if !ok || err != nil || len(page.Items) == 0 {
		t.Fatal("the fleet has no cart with a change:", err)
	}
	w.Hold = &reloader.Hold{Reason: reloader.ReasonHalted, Message: "it did not roll out on canary", Since: time.Now().Add(-time.Minute)}
	w.Edges[0].Pending = page.Items[0].ID
	fleet.Records.PutWorkload(*w)
	handler, err := fleet.HandlerFor(who, make(answers))
	if err != nil {
		t.Fatal(err)
	}
	return serveHandler(t, handler)
}

// What may be done in all namespaces that a view shows is one question, however many they are.
func TestRightsAreAskedForAtOnce(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(60)
	for _, namespace := range []string{"one", "two", "three", "four", "five"} {
		w := workloadOf("cart")
		w.Workload.Namespace, w.Hold = namespace, &reloader.Hold{Reason: reloader.ReasonRefused, Since: time.Now()}
		fleet.Records.PutWorkload(w)
	}
	handler, err := fleet.HandlerFor(staff{func(d api.Deed) bool {
		return d.Verb == "get" || d.Verb == "list" || d.Verb == "watch"
	}}, make(answers))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/self" {
			mu.Lock()
			asked = append(asked, r.URL.Query().Get("namespace"))
			mu.Unlock()
		}
		handler.ServeHTTP(w, r)
	}))
	b := startBrowser(t)
	b.openHurried(t, url+"#/held", never, never)
	b.wait(t, `.user:has-text("dana@example.com")`)
	b.wait(t, `.card.bad`)
	b.wait(t, `.box:has-text("Namespace platform of prod-us")`)
	b.wait(t, "[data-link=live]")
	b.lets(t, "1000")
	mu.Lock()
	defer mu.Unlock()
	// At first, for the cards, for the pauses, and for all once more when the stream has begun.
	if most := slices.MaxFunc(asked, func(a, b string) int { return strings.Count(a, ",") - strings.Count(b, ",") }); len(asked) > 4 || strings.Count(most, ",") < 5 {
		t.Errorf("asked for the rights in %q", asked)
	}
	b.faultless(t)
}

// Where nobody is authenticated, the pages that would have buttons say why they have none.
func TestReadOnlyIsExplained(t *testing.T) {
	_, url := serveFleet(t, 5)
	b := startBrowser(t)
	for _, view := range acting {
		b.open(t, url+view.path, "light", desk)
		b.wait(t, `.readonly:text-is("Read-only: start Reroll with --auth to act.")`)
		b.gone(t, ".user")
	}
	mayAct, _ := serveStaff(t, func(api.Deed) bool { return true })
	b.open(t, mayAct+acting[0].path, "light", desk)
	b.wait(t, button("Reload now"))
	b.gone(t, ".readonly")
}

// asked reports whether the page knows by now what may be done in a namespace.
const asked = `performance.getEntriesByType('resource').some((r) => r.name.match(/\/self\?namespace=(\w+%2C)*shop(%2C|$)/) && r.responseEnd > 0)`

func TestOnlyWhatIsAllowedIsOffered(t *testing.T) {
	b := startBrowser(t)
	nothing, _ := serveStaff(t, func(api.Deed) bool { return false })
	reading, _ := serveStaff(t, func(d api.Deed) bool { return d.Verb == "get" || d.Verb == "list" || d.Verb == "watch" })
	inShop, _ := serveStaff(t, func(d api.Deed) bool {
		return d.Verb == "get" || d.Verb == "list" || d.Verb == "watch" || d.Namespace == "shop" && d.Verb == "retry"
	})
	_, anonymous := serveFleet(t, 60)
	for name, tc := range map[string]struct {
		url  string
		want int
	}{
		"nobody can be told apart": {anonymous, 0},
		"who may only read":        {reading, 0},
		"who may retry in shop":    {inShop, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b.open(t, tc.url+acting[0].path, "light", desk)
			b.wait(t, ".steps")
			b.until(t, asked)
			if tc.want > 0 {
				b.wait(t, button("Try again"))
			}
			if got := read[int](t, b, "evaluate", params{"script": `document.querySelectorAll('main button[aria-haspopup=dialog]').length`}); got != tc.want {
				t.Errorf("%d buttons, want %d", got, tc.want)
			}
			b.faultless(t)
		})
	}
	t.Run("what is dead elsewhere is not theirs", func(t *testing.T) {
		b.open(t, inShop+"#/held", "light", desk)
		b.wait(t, `.card:has-text("mailer") `+button("Try again"))
		if got := read[int](t, b, "evaluate", params{"script": `[...document.querySelectorAll('main button[aria-haspopup=dialog]')].filter((x) => !x.closest('.card')?.innerText.includes('shop/')).length`}); got != 0 {
			t.Errorf("%d buttons in other namespaces", got)
		}
	})
	t.Run("who may not even look", func(t *testing.T) {
		b.openFailing(t, nothing+acting[0].path, "light", desk)
		b.wait(t, `.blank h2 >> text="You may not see this workload"`)
	})
}
