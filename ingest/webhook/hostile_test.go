package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// event is an event that matters, with replacements made in it: pairs of old and new text.
func event(t *testing.T, replacements ...string) string {
	t.Helper()
	s := strings.TrimSpace(logLine)
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(s, replacements[i]) {
			t.Fatalf("no %q to replace", replacements[i])
		}
		s = strings.Replace(s, replacements[i], replacements[i+1], 1)
	}
	return s
}

func eventList(items ...string) string {
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + "]}\n"
}

// TestHostileInput posts what can be made of a request and what anyone with an account can bring into one, and counts what is stored.
// Methods, paths, credentials, forms and lengths are in TestRefusals, timeouts and the number of senders in the tests of the load.
func TestHostileInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	good := event(t)
	list := func(s string) string { return `["` + strings.Repeat(s+`","`, 100_000) + s + `"]` }
	cases := map[string]struct {
		body   string
		code   int
		hints  int
		reason string
	}{
		"an array":                   {"[]", 400, 0, "the API server posts lists"},
		"no JSON":                    {"hello", 400, 0, "no sender says that"},
		"byte order mark":            {"\xef\xbb\xbf" + eventList(good), 400, 0, "no JSON has one"},
		"garbage behind":             {eventList(good) + "x", 400, 0, "nothing is stored of a body that is bad"},
		"stray bracket behind":       {eventList(good) + "]", 400, 0, "nothing is stored of a body that is bad"},
		"another kind":               {strings.Replace(eventList(good), "EventList", "Event", 1), 400, 0, "it may mean something else"},
		"no kind":                    {strings.Replace(eventList(good), `"kind":"EventList",`, "", 1), 400, 0, "it may mean something else"},
		"no version":                 {strings.Replace(eventList(good), `"apiVersion":"audit.k8s.io/v1",`, "", 1), 400, 0, "it may mean something else"},
		"v1alpha1":                   {strings.Replace(eventList(good), "k8s.io/v1", "k8s.io/v1alpha1", 1), 400, 0, "it is gone"},
		"no items":                   {eventList(), 204, 0, "nothing is to be stored"},
		"null items":                 {strings.Replace(eventList(), "[]", "null", 1), 204, 0, "nothing is to be stored"},
		"unknown fields":             {eventList(event(t, `{"kind"`, `{"new":{"a":[1]},"kind"`)), 204, 1, "the schema grows"},
		"repeated and odd keys":      {eventList(event(t, `"verb":"update"`, `"VERB":"get","verb":"get","verb":"update"`)), 204, 1, "keys have a case, and the last counts"},
		"null beside a good one":     {eventList("null", good), 204, 1, "one bad event costs itself"},
		"no objects":                 {eventList("7", `"x"`, "[]", "true", good), 204, 1, "one bad event costs itself"},
		"text as a reference":        {eventList(event(t, `"objectRef":{`, `"objectRef":"x","other":{`), good), 204, 1, "one bad event costs itself"},
		"no reference":               {eventList(event(t, `"objectRef":{`, `"other":{`), good), 204, 1, "one bad event costs itself"},
		"bad time":                   {eventList(event(t, "2026-11-21", "yesterday"), good), 204, 1, "one bad event costs itself"},
		"huge code":                  {eventList(event(t, `"code":200`, `"code":1e99`), good), 204, 2, "the outcome is unknown, which the other does not hide"},
		"other resource":             {eventList(event(t, "secrets", "pods"), good), 204, 1, "a shared policy selects it"},
		"read":                       {eventList(event(t, `"update"`, `"get"`), good), 204, 1, "a shared policy selects it"},
		"other stage":                {eventList(event(t, "ResponseComplete", "RequestReceived"), good), 204, 1, "a shared policy selects it"},
		"dry run":                    {eventList(event(t, `"requestURI":"/"`, `"requestURI":"/?dryRun=All"`), good), 204, 1, "nothing was stored"},
		"conflict":                   {eventList(event(t, `"code":200`, `"code":409`), good), 204, 1, "nothing was stored"},
		"name with dots":             {eventList(event(t, `"db"`, `"db.example.com"`)), 204, 1, "it is valid"},
		"wildcards for a name":       {eventList(event(t, `"db"`, `"*"`), event(t, `"db"`, `">"`), good), 204, 1, "no subject is made of them"},
		"control characters in name": {eventList(event(t, `"db"`, `"a\u0000b"`), event(t, `"db"`, `"a\nb"`), good), 204, 1, "no line of a log is made of them"},
		"spaces in name":             {eventList(event(t, `"db"`, `"a b"`), event(t, `"db"`, `" "`), good), 204, 1, "no subject is made of them"},
		"other letters in name":      {eventList(event(t, `"db"`, `"bäckerei"`), event(t, `"db"`, `"DB"`), event(t, `"db"`, `"d\u202eb"`), good), 204, 1, "Kubernetes has no such names"},
		"name of 254 characters":     {eventList(event(t, `"db"`, `"`+strings.Repeat("a", 254)+`"`), event(t, `"db"`, `"`+strings.Repeat("a", 253)+`"`)), 204, 1, "253 are the most"},
		"name of 1 MB":               {eventList(event(t, `"db"`, `"`+long+`"`), good), 204, 1, "no name is that long"},
		"namespace with a path":      {eventList(event(t, `"shop"`, `"../etc"`), good), 204, 1, "no file is named by it"},
		"no audit ID":                {eventList(event(t, `"a-1"`, `""`)), 204, 1, "clients choose it"},
		"audit ID of 1 MB":           {eventList(event(t, `"a-1"`, `"`+long+`"`)), 204, 1, "clients choose it"},
		"control in the audit ID":    {eventList(event(t, `"a-1"`, `"\u001b[2J"`)), 204, 1, "clients choose it"},
		"audit ID of another":        {eventList(good, event(t, `"db"`, `"db2"`)), 204, 2, "it hides no event"},
		"replay":                     {eventList(good, good), 204, 1, "twice is once"},
		"time of the future":         {eventList(event(t, "2026-11-21", "9999-12-31")), 204, 1, "it orders nothing"},
		"time of the past":           {eventList(event(t, "2026-11-21", "0001-01-01")), 204, 1, "it orders nothing"},
		"huge agent":                 {eventList(event(t, `{"kind"`, `{"userAgent":"`+long+`","kind"`)), 204, 1, "it is cut"},
		"huge groups":                {eventList(event(t, `"ana"`, `"ana","groups":`+list("group"))), 204, 1, "they are passed over"},
		"huge annotations":           {eventList(event(t, `{"kind"`, `{"annotations":{"a":"`+long+`"},"kind"`)), 204, 1, "they are passed over"},
		"many addresses":             {eventList(event(t, `{"kind"`, `{"sourceIPs":`+list("10.0.0.1")+`,"kind"`)), 204, 1, "only the last counts"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stored := &sink{}
			r := start(t, func(_ *rig, o *Options) { o.Sink = stored })
			client := r.client(true)
			for round := 1; round <= 2; round++ {
				got := r.must(client, r.request(strings.NewReader(c.body), nil))
				if got.code != c.code || stored.count() != round*c.hints {
					t.Fatalf("round %d: got %d %q and %d hints, want %d and %d: %s",
						round, got.code, got.status.Message, stored.count(), c.code, round*c.hints, c.reason)
				}
			}
			for _, h := range stored.hints {
				if _, err := reloader.Encode(h); err != nil {
					t.Error(err)
				}
			}
			if strings.Contains(r.log.String(), "xxxxxxxx") || strings.Contains(r.log.String(), "\x1b") {
				t.Error("the log repeats what was posted")
			}
		})
	}
}

// TestMemoryIsBounded posts bodies that would be many times as large when they are decoded as a whole.
func TestMemoryIsBounded(t *testing.T) {
	cases := map[string]struct {
		path string
		body string
		code int
	}{
		"empty events":         {"/v1/audit/prod", eventList("{}" + strings.Repeat(",{}", 1<<20)), 413},
		"empty events, lines":  {"/v1/shipped/prod", strings.Repeat("{}\n", 1<<20), 413},
		"empty events, nested": {"/v1/shipped/prod", `{"records":[` + strings.Repeat(`{"data":"e30="},`, 1<<17) + "{}]}", 413},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(_ *rig, o *Options) { o.Sink = &sink{} })
			req := r.request(io.NopCloser(strings.NewReader(c.body)), func(r *http.Request) { r.URL.Path = c.path })
			w := httptest.NewRecorder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r.server.Handler().ServeHTTP(w, req)
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; w.Code != c.code || allocated > 32<<20 {
				t.Errorf("got %d, want %d; %s allocated for a body of %s", w.Code, c.code, megabytes(allocated), megabytes(uint64(len(c.body))))
			}
		})
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
