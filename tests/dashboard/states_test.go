package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
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
		{"older", serve(t, empty, answering(http.StatusNotFound, `{"status":404}`, func(r *http.Request) bool { return r.URL.Path != "/api/v1/self" })), []string{
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
	fleet.Change(time.Now())
	b.until(t, `document.querySelector('.sum').innerText === '31 changes'`)
	b.until(t, `document.querySelector('[aria-live=polite]').textContent.startsWith('1 new change.')`)
}

// A token that was refused is asked for again, also if it is the one that was refused before. One that is accepted is kept in memory alone,
// and opens every view. The form has a visible label and is where the page says that it is.
func TestTokenIsAskedForAndKeptInMemory(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	url := serve(t, fleet, answering(http.StatusUnauthorized, `{"status":401}`, func(r *http.Request) bool {
		return r.Header.Get("Authorization") != "Bearer right"
	}))
	b := startBrowser(t)
	b.openFailing(t, url, "light", desk)
	b.wait(t, `.blank:has-text("in the form above")`)
	b.until(t, `document.querySelector('form.box').getBoundingClientRect().bottom <= document.querySelector('.blank').getBoundingClientRect().top`)
	for i, token := range []string{"wrong", "wrong", "right"} {
		b.wait(t, "#token")
		b.wait(t, `label[for=token]:text-is("Token")`)
		if i > 0 {
			b.wait(t, `form.box [role=alert]:text-is("The server did not accept this token.")`)
		}
		b.until(t, `document.querySelector('#token').value === ''`)
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

// A page that came over plain HTTP from elsewhere asks for no token, which would cross the network in clear. Under the name reroll.test the
// browser finds the loopback, and takes it for a machine in the network.
func TestNoTokenInClear(t *testing.T) {
	fleet := showcase.New(time.Now())
	url := serve(t, fleet, answering(http.StatusUnauthorized, `{"status":401}`, func(*http.Request) bool { return true }))
	b := startBrowser(t)
	b.openFailing(t, strings.Replace(url, "127.0.0.1", "reroll.test", 1), "light", desk)
	b.wait(t, ".wait[role=alert]")
	b.until(t, `!window.isSecureContext && document.querySelector('.wait[role=alert]').textContent.includes('https')`)
	b.gone(t, "#token")
	b.accessible(t, "token-in-clear")
	b.openFailing(t, url, "light", desk)
	b.wait(t, "#token")
}

// Changes are told to those who hear the page, who can also pause it.
func TestChangesAreAnnouncedAndCanBePaused(t *testing.T) {
	fleet, url := serveFleet(t, 30)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-link=live]")
	fleet.Change(time.Now())
	b.until(t, `document.querySelector('[aria-live=polite]').textContent.startsWith('1 new change')`)
	b.click(t, ".pause")
	b.wait(t, "[data-link=paused]")
	fleet.Change(time.Now())
	fleet.Change(time.Now())
	b.until(t, `document.querySelector('.sum').innerText === '31 changes'`)
	b.click(t, ".pause")
	b.until(t, `document.querySelector('.sum').innerText === '33 changes'`)
	b.faultless(t)
}

// slowly stands before the API and holds back the nth answer of a path until held is closed; the answer was made before.
type slowly struct {
	next http.Handler
	path string
	nth  int64
	held chan struct{}
	// asked counts the questions, at those that are being answered, and most is how many of these there were at once.
	asked, at, most atomic.Int64
}

func (s *slowly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != s.path {
		s.next.ServeHTTP(w, r)
		return
	}
	for at, most := s.at.Add(1), s.most.Load(); at > most && !s.most.CompareAndSwap(most, at); most = s.most.Load() {
	}
	defer s.at.Add(-1)
	made := httptest.NewRecorder()
	n := s.asked.Add(1)
	s.next.ServeHTTP(made, r)
	if n == s.nth {
		<-s.held
	}
	maps.Copy(w.Header(), made.Header())
	w.WriteHeader(made.Code)
	_, _ = w.Write(made.Body.Bytes())
}

// What is asked for again while an answer is on its way is asked for once more afterwards: an older answer never comes after a newer one.
func TestAnswersAreNotOvertaken(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	slow := &slowly{path: "/api/v1/workloads", nth: 2, held: make(chan struct{})}
	release := sync.OnceFunc(func() { close(slow.held) })
	t.Cleanup(release)
	url := serve(t, fleet, func(next http.Handler) http.Handler {
		slow.next = next
		return slow
	})
	b := startBrowser(t)
	b.open(t, url+"#/workloads", "light", desk)
	b.wait(t, "[data-row]")
	b.wait(t, "[data-link=live]")
	// The second answer is held back: that to what is asked once the stream has begun, or to the first of this news.
	news := time.Tick(50 * time.Millisecond)
	for slow.asked.Load() < 2 {
		fleet.Records.PutWorkload(workloadOf("early"))
		<-news
	}
	for i := range 20 {
		fleet.Records.PutWorkload(workloadOf("late-" + strconv.Itoa(i)))
		<-news
	}
	if asked := slow.asked.Load(); asked != 2 {
		t.Errorf("%d questions while one was being answered", asked-1)
	}
	release()
	b.wait(t, `[data-row]:has-text("late-19")`)
	if most := slow.most.Load(); most != 1 {
		t.Errorf("%d questions of one kind were on their way at once", most)
	}
	b.faultless(t)
}

func workloadOf(name string) reloader.WorkloadRecord {
	return reloader.WorkloadRecord{
		Cluster: "prod-eu", Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "added", Name: name}, UID: name,
		Dialect: "stakater", Strategy: "env-vars", UpdatedAt: time.Now(),
	}
}

// A server that has been asked too much, or is still reading, takes nothing away that was there; the page says that it is older.
func TestDataStaysWhileTheServerIsBusy(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	var code atomic.Int64
	url := serve(t, fleet, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c := int(code.Load()); c != 0 && isQuestion(r) && r.URL.Path != "/api/v1/events" {
				answering(c, `{"detail":"Later."}`, always)(next).ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	b := startBrowser(t)
	for _, view := range []struct{ path, has string }{{"#/workloads", "[data-row]"}, {"#/", "[data-row]"}} {
		for _, c := range []int64{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			code.Store(0)
			b.openFailing(t, url+view.path, "light", desk)
			b.wait(t, view.has)
			b.wait(t, "[data-link=live]")
			b.until(t, `performance.getEntriesByType('resource').filter((r) => r.name.includes('/timeline') && r.responseEnd > 0).length > 1`)
			code.Store(c)
			fleet.Records.PutWorkload(workloadOf("cart")) // read by the list of workloads
			fleet.Records.ForgetReloads()                 // which has everything read again
			b.wait(t, `.warnings:has-text("The server answered `+strconv.Itoa(int(c))+`")`)
			b.wait(t, view.has)
			b.accessible(t, "busy")
			b.shoot(t, "state-busy")
			code.Store(0)
			b.gone(t, ".warnings") // it asks again by itself
			b.wait(t, view.has)
		}
	}
}

// Warnings of every page of a listing are told, and that there is more than was read.
func TestListsTellWhatTheyLack(t *testing.T) {
	const row = `{"cluster":"c","workload":{"kind":"Deployment","namespace":"shop","name":"w-%d"},"hold":{"reason":"Frozen","since":"2026-11-22T06:00:00Z"},"dead":false,"pending":[]}`
	fleet := showcase.New(time.Now())
	fleet.Fill(1)
	url := serve(t, fleet, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/workloads" {
				next.ServeHTTP(w, r)
				return
			}
			page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			rows := make([]string, 500)
			for i := range rows {
				rows[i] = fmt.Sprintf(row, page*500+i)
			}
			warnings := ""
			if page == 0 {
				warnings = `"Cluster c2: nothing has been heard of it."`
			}
			_, _ = fmt.Fprintf(w, `{"items":[%s],"metadata":{"continue":"%d"},"warnings":[%s]}`, strings.Join(rows, ","), page+1, warnings)
		})
	})
	b := startBrowser(t)
	b.open(t, url+"#/held", "light", desk)
	b.wait(t, `.warnings:has-text("Cluster c2: nothing has been heard of it."):has-text("There are more than these 2,000; the API has them all.")`)
	b.shoot(t, "state-more")
	b.faultless(t)
}

// Who asks with another token sees what that one shows, and nothing of what was there before.
func TestAnotherTokenShowsNothingOfTheOneBefore(t *testing.T) {
	var handlers [2]http.Handler
	for i, changes := range []int{40, 5} {
		fleet := showcase.New(time.Now())
		fleet.Fill(changes)
		handler, err := fleet.Handler()
		if err != nil {
			t.Fatal(err)
		}
		handlers[i] = handler
	}
	var ended, waits atomic.Bool
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch token := r.Header.Get("Authorization"); {
		case !isQuestion(r), token == "Bearer one" && !ended.Load():
			handlers[0].ServeHTTP(w, r)
		case token == "Bearer two":
			if r.URL.Path == "/api/v1/changes" {
				waits.Store(true)
				<-held
			}
			handlers[1].ServeHTTP(w, r)
		default:
			answering(http.StatusUnauthorized, `{"status":401}`, always)(nil).ServeHTTP(w, r)
		}
	}))
	t.Cleanup(release)
	b := startBrowser(t)
	b.openFailing(t, url, "light", desk)
	for _, token := range []string{"one", "two"} {
		b.wait(t, "#token")
		b.do(t, "fill", params{"selector": "#token", "text": token})
		b.press(t, "Enter")
		if token == "one" {
			b.until(t, `document.querySelector('.sum')?.innerText === '40 changes'`)
			ended.Store(true)
			b.press(t, "g", "s") // which asks a question
			b.wait(t, "#token")
			b.press(t, "g", "t")
		}
	}
	eventually(t, "the timeline is asked for with the other token", waits.Load)
	b.gone(t, "#token")
	b.lets(t, "500")
	if n := read[int](t, b, "evaluate", params{"script": `document.querySelectorAll('[data-row]').length`}); n != 0 {
		t.Errorf("%d rows are shown to another token before there is an answer for it", n)
	}
	release()
	b.until(t, `document.querySelector('.sum')?.innerText === '5 changes'`)
	b.faultless(t)
}

// An answer that the dashboard does not understand takes its own view alone: the page says so, the others work, and it can be tried again.
func TestAnswerThatIsNotUnderstood(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(5)
	var odd atomic.Bool
	odd.Store(true)
	url := serve(t, fleet, answering(http.StatusOK, `{"items":[{"name":"c1","health":"Odd"}],"metadata":{},"warnings":[]}`, func(r *http.Request) bool {
		return r.URL.Path == "/api/v1/clusters" && odd.Load()
	}))
	b := startBrowser(t)
	b.openHurried(t, url+"#/clusters", never, never)
	b.wait(t, `.blank h2:text-is("This view cannot be shown")`)
	b.accessible(t, "not-understood")
	b.shoot(t, "state-not-understood")
	b.press(t, "g", "w")
	b.wait(t, "[data-row] .badge")
	odd.Store(false)
	b.press(t, "g", "c")
	b.click(t, `button:text-is("Try again")`)
	b.wait(t, `.card:has-text("prod-eu")`)
	b.faultless(t)
}
