package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/dashboard/showcase"
)

// isQuestion tells requests to the API from those for the page.
func isQuestion(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// answering stands before the API and answers some questions itself, all in one way.
func answering(code int, body string, which func(*http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isQuestion(r) || !which(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		})
	}
}

func always(*http.Request) bool { return true }

// Every view says what is the case when it has nothing to show.
func TestStatesOfViewsWithoutData(t *testing.T) {
	empty := showcase.New(time.Now())
	empty.Records.SetCaughtUp()
	cases := []struct {
		name string
		url  string
		// titles are those of the views in their order.
		titles []string
	}{
		{"empty", serve(t, empty, nil), []string{
			"Nothing has changed yet", "No workload is opted in", "This server knows nothing of this workload", "No workload depends on a config",
			"Nothing is known that would roll", "Nothing is held back", "No cluster has told of itself yet", "Nothing happened in this time",
		}},
		{"older", serve(t, empty, answering(http.StatusNotFound, `{"status":404}`, func(r *http.Request) bool { return r.URL.Path != "/api/v1/version" })), []string{
			"This server knows nothing of what has changed", "This server knows nothing of workloads", "This server knows nothing of this workload",
			"This server knows nothing of which workload depends on which config", "This server knows nothing of what would roll",
			"This server knows nothing of what is held back", "This server knows nothing of clusters", "This server knows nothing of how much has happened",
		}},
		{"broken", serve(t, empty, answering(http.StatusInternalServerError, `{"status":500,"detail":"It is broken."}`, always)), []string{
			"The server answered 500", "The server answered 500", "The server answered 500", "The server answered 500",
			"The server answered 500", "The server answered 500", "The server answered 500", "The server answered 500",
		}},
		{"forbidden", serve(t, empty, answering(http.StatusForbidden, `{"status":403}`, always)), []string{
			"You may not see what has changed", "You may not see workloads", "You may not see this workload",
			"You may not see which workload depends on which config", "You may not see what would roll", "You may not see what is held back",
			"You may not see clusters", "You may not see how much has happened",
		}},
	}
	b := startBrowser(t)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b.openFailing(t, tc.url, "dark", desk)
			for i, view := range views {
				b.do(t, "goto", params{"url": tc.url + view.path})
				b.wait(t, `.blank h2 >> text="`+tc.titles[i]+`"`)
			}
			b.do(t, "goto", params{"url": tc.url + "#/"})
			b.wait(t, ".blank h2")
			b.accessible(t, tc.name)
			b.shoot(t, "state-"+tc.name)
			b.faultless(t)
		})
	}
}

// Without a stream of events the page asks again and again.
func TestServerWithoutStreamIsAskedAgain(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	url := serve(t, fleet, answering(http.StatusNotFound, `{"status":404}`, func(r *http.Request) bool { return r.URL.Path == "/api/v1/events" }))
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, `[data-link=polling]`)
	b.until(t, `document.querySelector('.sum').innerText === '30 changes'`)
	fleet.Change(time.Now(), false)
	b.until(t, `document.querySelector('.sum').innerText === '31 changes'`)
}

// A token is asked for when the server wants one, is kept in memory alone, and opens every view.
func TestTokenIsAskedForAndKeptInMemory(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	url := serve(t, fleet, answering(http.StatusUnauthorized, `{"status":401}`, func(r *http.Request) bool {
		return r.Header.Get("Authorization") != "Bearer right"
	}))
	b := startBrowser(t)
	b.openFailing(t, url, "light", desk)
	for _, token := range []string{"wrong", "right"} {
		b.wait(t, "#token")
		b.accessible(t, "token")
		b.shoot(t, "state-token")
		b.do(t, "fill", params{"selector": "#token", "text": token})
		b.press(t, "Enter")
	}
	b.wait(t, "[data-row]")
	b.wait(t, "[data-link=live]")
	b.gone(t, "#token")
	b.until(t, `localStorage.length + sessionStorage.length === 0 && document.cookie === '' && !location.href.includes('right')`)
	b.faultless(t)
	b.do(t, "reload", nil)
	b.wait(t, "#token")
}

// Changes are told to those who hear the page, who can also pause it.
func TestChangesAreAnnouncedAndCanBePaused(t *testing.T) {
	fleet, url := serveFleet(t, 30)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-link=live]")
	fleet.Change(time.Now(), false)
	b.until(t, `document.querySelector('[aria-live=polite]').textContent.startsWith('1 new change')`)
	b.click(t, ".pause")
	b.wait(t, "[data-link=paused]")
	fleet.Change(time.Now(), false)
	fleet.Change(time.Now(), false)
	b.until(t, `document.querySelector('.sum').innerText === '31 changes'`)
	b.click(t, ".pause")
	b.until(t, `document.querySelector('.sum').innerText === '33 changes'`)
	b.faultless(t)
}
