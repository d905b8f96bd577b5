package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/dashboard/showcase"
)

// never is an interval or a patience, in milliseconds, that no test lives to see the end of.
const never = 3_600_000

// openHurried is open for a page that does every interval milliseconds what it does every half minute, and waits for an answer for
// patience milliseconds.
func (b *browser) openHurried(t *testing.T, url string, interval, patience int) {
	t.Helper()
	b.do(t, "open", params{"url": url, "theme": "light", "width": desk.width, "height": desk.height, "failing": true, "interval": interval, "patience": patience})
}

// lets lets so many milliseconds pass in the page: what its clocks were to do by then it has done.
func (b *browser) lets(t *testing.T, milliseconds string) {
	t.Helper()
	b.do(t, "evaluate", params{"script": `new Promise((done) => setTimeout(done, ` + milliseconds + `))`})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-again.C {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// asking counts the questions of one path.
type asking struct {
	next   http.Handler
	path   string
	asked  atomic.Int64
	answer func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler)
}

func (a *asking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != a.path {
		a.next.ServeHTTP(w, r)
		return
	}
	n := a.asked.Add(1)
	if a.answer == nil {
		a.next.ServeHTTP(w, r)
		return
	}
	a.answer(n, w, r, a.next)
}

func (a *asking) before(next http.Handler) http.Handler {
	a.next = next
	return a
}

// streams can end every stream of events that is open, or break its connection.
type streams struct {
	next http.Handler
	mu   sync.Mutex
	ends []context.CancelCauseFunc
	// resumed counts the streams that go on where another one ended.
	resumed atomic.Int64
}

func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/events" {
		s.next.ServeHTTP(w, r)
		return
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	s.mu.Lock()
	s.ends = append(s.ends, end)
	s.mu.Unlock()
	if r.Header.Get("Last-Event-ID") != "" {
		s.resumed.Add(1)
	}
	s.next.ServeHTTP(w, r.WithContext(ctx))
	if errors.Is(context.Cause(ctx), http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
}

// end ends the streams as the server does by itself, cut breaks their connections.
func (s *streams) end() { s.stop(nil) }
func (s *streams) cut() { s.stop(http.ErrAbortHandler) }

func (s *streams) stop(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.ends {
		end(cause)
	}
	s.ends = nil
}

func (s *streams) before(next http.Handler) http.Handler {
	s.next = next
	return s
}

// changeIn makes changes until one is in a namespace.
func changeIn(fleet *showcase.Fleet, namespace string) {
	for fleet.Change(time.Now()).Config.Namespace != namespace {
	}
}

const sum = `document.querySelector('.sum')?.innerText`

// What comes live is shown at once, whatever the timeline waits for, and an older answer takes nothing of it away.
func TestNewsAreShownWhileAnAnswerIsAwaited(t *testing.T) {
	b := startBrowser(t)
	// held opens the timeline of a fleet and waits until its second answer is held back.
	held := func(t *testing.T) (*showcase.Fleet, *slowly, func()) {
		t.Helper()
		fleet := showcase.New(time.Now())
		fleet.Fill(30)
		slow := &slowly{path: "/api/v1/changes", nth: 2, held: make(chan struct{})}
		release := sync.OnceFunc(func() { close(slow.held) })
		url := serve(t, fleet, func(next http.Handler) http.Handler {
			slow.next = next
			return slow
		})
		t.Cleanup(release)
		b.openHurried(t, url, never, never)
		b.wait(t, "[data-row]")
		b.wait(t, "[data-link=live]")
		eventually(t, "the timeline is read again", func() bool { return slow.asked.Load() == 2 })
		return fleet, slow, release
	}
	t.Run("an answer that does not come", func(t *testing.T) {
		fleet, slow, release := held(t)
		fleet.Change(time.Now())
		b.until(t, sum+` === '31 changes'`)
		release()
		eventually(t, "the answer is there", func() bool { return slow.at.Load() == 0 })
		b.until(t, `performance.getEntriesByType('resource').filter((r) => r.name.includes('/timeline')).length >= 2`)
		b.lets(t, "500")
		if got := read[string](t, b, "text", params{"selector": ".sum"}); got != "31 changes" {
			t.Errorf("after an older answer %s are shown", got)
		}
		b.faultless(t)
	})
	t.Run("an answer about what is not looked at any more", func(t *testing.T) {
		fleet, _, _ := held(t)
		b.do(t, "evaluate", params{"script": `location.hash = '#/?in=platform'; 0`})
		b.wait(t, ".scoped")
		b.wait(t, `[data-row]:has-text("platform/")`)
		b.gone(t, `[data-row] .what :text-is("shop/")`)
		b.wait(t, "[data-link=live]")
		before := read[string](t, b, "text", params{"selector": ".sum"})
		changeIn(fleet, "platform")
		b.until(t, sum+` !== '`+before+`'`)
		b.faultless(t)
	})
	t.Run("a server that says when to ask again", func(t *testing.T) {
		fleet := showcase.New(time.Now())
		fleet.Fill(30)
		busy := &asking{path: "/api/v1/changes", answer: func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
			if n == 1 {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Retry-After", "3600")
			answering(http.StatusServiceUnavailable, `{"detail":"Later."}`, always)(next).ServeHTTP(w, r)
		}}
		b.openHurried(t, serve(t, fleet, busy.before), never, never)
		b.wait(t, "[data-link=live]")
		eventually(t, "the timeline is read again", func() bool { return busy.asked.Load() == 2 })
		fleet.Change(time.Now())
		b.until(t, sum+` === '31 changes'`)
	})
}

// A question whose answer does not come is asked again: after a while, and at once when the server is back.
func TestQuestionsWithoutAnAnswerAreAskedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		patience int
		cut      bool
	}{
		"after a while":           {patience: 3_000},
		"when the stream goes on": {patience: never, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := showcase.New(time.Now())
			fleet.Fill(30)
			hung := &asking{path: "/api/v1/workloads", answer: func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
				if n == 1 {
					<-r.Context().Done()
					return
				}
				next.ServeHTTP(w, r)
			}}
			var open streams
			url := serve(t, fleet, func(next http.Handler) http.Handler { return open.before(hung.before(next)) })
			b := startBrowser(t)
			b.openHurried(t, url+"#/workloads", never, tc.patience)
			b.wait(t, "[data-link=live]")
			eventually(t, "the workloads are asked for", func() bool { return hung.asked.Load() == 1 })
			if tc.cut {
				open.cut()
			}
			b.wait(t, "[data-row]")
			b.faultless(t)
		})
	}
}

// A stream that the server ends goes on where it was: nothing is read again, however much is there, and the page never says that it is
// disconnected.
func TestStreamThatEndsHasNothingReadAgain(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(1_100)
	asked := &asking{path: "/api/v1/changes"}
	var open streams
	url := serve(t, fleet, func(next http.Handler) http.Handler { return open.before(asked.before(next)) })
	b := startBrowser(t)
	b.openHurried(t, url, never, never)
	b.wait(t, "[data-link=live]")
	b.lets(t, "1000") // what was told by neither the first answer nor the stream is asked for
	b.until(t, `(() => {
	  document.querySelector('[data-virtual]').scrollTop = 1e9;
	  return document.querySelector('.sum').innerText === '1,100 changes';
	})()`)
	before := asked.asked.Load()
	b.do(t, "evaluate", params{"script": `{
	  globalThis.links = [];
	  const state = document.querySelector('[data-link]');
	  new MutationObserver(() => links.push(state.dataset.link)).observe(state, { attributes: true });
	} 0`})
	open.end()
	eventually(t, "the stream goes on", func() bool { return open.resumed.Load() == 1 })
	b.wait(t, "[data-link=live]")
	b.lets(t, "1000")
	fleet.Change(time.Now())
	b.until(t, sum+` === '1,101 changes'`)
	if after := asked.asked.Load(); after != before {
		t.Errorf("the timeline was asked for %d times more", after-before)
	}
	if links := read[[]string](t, b, "evaluate", params{"script": `links`}); len(links) != 0 {
		t.Errorf("the page said that it is %s", links)
	}
	b.faultless(t)
}

// Whoever looks at one namespace alone is not told live of workloads of others; what became of them is shown all the same.
func TestWorkloadsOfOtherNamespacesAreShownInOne(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	b := startBrowser(t)
	b.open(t, serve(t, fleet, nil)+"#/?in=shop", "light", desk)
	b.wait(t, "[data-row]")
	b.wait(t, "[data-link=live]")
	b.lets(t, "1000")
	config := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "exchange-rates"}
	c := reloader.Change{
		ID: "rates", Cluster: "prod-eu", Config: config, Type: reloader.ChangeUpdated, UID: "u", ResourceVersion: "1",
		Source: reloader.SourceSweep, VerifiedAt: time.Now(),
	}
	fleet.Records.AddChange(1_000_000, c)
	b.wait(t, `[data-row]:has-text("exchange-rates")`)
	fleet.Records.AddReload(1_000_000, reloader.Reload{
		ID: "rolled", Cluster: c.Cluster, Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "payments", Name: "ledger"}, UID: "l",
		Outcome: reloader.ReasonReloaded, DecidedAt: time.Now(), PatchedAt: time.Now(),
		Causes: []reloader.Cause{{ChangeID: c.ID, Config: config, Why: reloader.ReasonNamed, Source: c.Source, VerifiedAt: c.VerifiedAt}},
	})
	b.wait(t, `[data-row]:has-text("exchange-rates"):has-text("ledger") .badge`)
	b.faultless(t)
}

// What is asked every half minute is not asked while nobody looks, while the page is paused, or by those who may not.
func TestNothingIsAskedForNobody(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	var forbidden atomic.Bool
	clusters := &asking{path: "/api/v1/clusters", answer: func(_ int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
		if forbidden.Load() {
			answering(http.StatusForbidden, `{"detail":"No."}`, always)(next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}}
	b := startBrowser(t)
	b.openHurried(t, serve(t, fleet, clusters.before), 200, never)
	b.wait(t, "[data-link=live]")
	goesOn := func() {
		t.Helper()
		at := clusters.asked.Load()
		eventually(t, "clusters are asked for again and again", func() bool { return clusters.asked.Load() > at+2 })
	}
	rests := func(why string) {
		t.Helper()
		b.lets(t, "1000")
		at := clusters.asked.Load()
		b.lets(t, "2000")
		if asked := clusters.asked.Load() - at; asked > 0 {
			t.Errorf("clusters were asked for %d times by a page that %s", asked, why)
		}
	}
	pause := func() {
		t.Helper()
		b.press(t, "g", "t")
		b.click(t, ".pause")
		b.press(t, "g", "c")
		b.wait(t, ".card")
	}
	hide := func(hidden string) {
		t.Helper()
		b.do(t, "evaluate", params{"script": `Object.defineProperty(document, 'hidden', {value: ` + hidden + `, configurable: true}); 0`})
	}
	b.press(t, "g", "c")
	b.wait(t, ".card")
	goesOn()
	pause()
	b.wait(t, "[data-link=paused]")
	rests("is paused")
	pause()
	goesOn()
	hide("true")
	rests("is not in sight")
	hide("false")
	goesOn()
	forbidden.Store(true)
	b.wait(t, `.blank h2 >> text="You may not see clusters"`)
	rests("may not see them")
}

// A question that cannot be answered is not asked again by itself, and the page does not say so.
func TestFaultsThatStayAreToldAsSuch(t *testing.T) {
	fleet := showcase.New(time.Now())
	fleet.Fill(30)
	asked := &asking{path: "/api/v1/changes", answer: func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n == 1 {
			next.ServeHTTP(w, r)
			return
		}
		answering(http.StatusUnprocessableEntity, `{"detail":"No."}`, always)(next).ServeHTTP(w, r)
	}}
	b := startBrowser(t)
	b.openHurried(t, serve(t, fleet, asked.before), never, never)
	b.wait(t, `.warnings:has-text("The server answered 422: what is shown is older. Reload the page to ask again.")`)
	b.wait(t, "[data-row]")
}

// A namespace in which there is nothing is named where its data would be.
func TestEmptyNamespaceIsNamed(t *testing.T) {
	_, url := serveFleet(t, 30)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	for path, title := range map[string]string{
		"": "nothing has changed yet", "workloads": "no workload is opted in", "impact": "no workload depends on a config",
		"held": "nothing is held back", "charts": "nothing happened in this time",
	} {
		b.do(t, "goto", params{"url": url + "#/" + path + "?in=void"})
		b.wait(t, `.blank h2 >> text="In namespace void `+title+`"`)
	}
	b.faultless(t)
}

// turning stands before the API and says that a cluster is away once it is meant to be: no event tells of that.
type turning struct {
	next    http.Handler
	cluster string
	away    atomic.Bool
}

func (s *turning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/clusters" || !s.away.Load() {
		s.next.ServeHTTP(w, r)
		return
	}
	made := httptest.NewRecorder()
	s.next.ServeHTTP(made, r)
	var answer map[string]any
	_ = json.Unmarshal(made.Body.Bytes(), &answer)
	for _, item := range answer["items"].([]any) {
		if c := item.(map[string]any); c["name"] == s.cluster {
			c["health"] = "Away"
		}
	}
	maps.Copy(w.Header(), made.Header())
	w.Header().Del("Content-Length")
	_ = json.NewEncoder(w).Encode(answer)
}
