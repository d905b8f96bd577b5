package webhook

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/ingest/audit"
)

// FuzzPost posts anything to a server whose sink is broken, and then to one whose sink works. Success is answered only if there is
// nothing to store, or everything is; every answer is one of those that are counted, and never a redirect.
func FuzzPost(f *testing.F) {
	broken, working := &sink{err: errors.New("disk full")}, &sink{}
	serve := func(s *sink) http.Handler {
		server, err := New(Options{
			Address: "127.0.0.1:0", InsecureHTTP: true, Sink: s,
			Limits: Limits{BodyBytes: 1 << 16, InflatedBytes: 1 << 18, Decode: audit.Limits{MaxItems: 100, MaxHints: 10, MaxEventBytes: 1 << 15}},
		})
		if err != nil {
			f.Fatal(err)
		}
		return server.handler
	}
	toBroken, toWorking := serve(broken), serve(working)
	f.Add("/v1/audit/prod", "application/json", "", "", []byte(body))
	f.Add("/v1/audit/prod", "application/json; charset=utf-8", "", "", []byte(eventList("null", strings.TrimSpace(logLine))))
	f.Add("/v1/shipped/prod", "application/x-ndjson", "", "", []byte(logLine+logLine))
	f.Add("/v1/shipped/prod", "application/json", "gzip", "", []byte(compressed(logLine, gzipped)))
	f.Add("/v1/shipped/prod", "application/json", "deflate", "", []byte(compressed(logLine, deflated)))
	f.Add("/v1/shipped/prod", "application/json", "gzip", "", []byte(compressed(strings.Repeat(" ", 1<<19), gzipped)))
	f.Add("/v1/shipped/prod", "application/json", "", "ed4acda5-034f-9f42-bba1-f29aea6d7d8f", []byte(`{"requestId":"x","records":[{"data":"e30="}]}`))
	f.Add("//v1/audit/../x", "text/plain", "br", "\x00", []byte("\xff"))
	f.Fuzz(func(t *testing.T, path, media, encoding, id string, content []byte) {
		target, err := url.ParseRequestURI(path)
		if err != nil || target.Host != "" || path[0] != '/' {
			return // no server gets such a path
		}
		post := func(to http.Handler) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(content)))
			r.URL = target
			for name, value := range map[string]string{"Content-Type": media, "Content-Encoding": encoding, requestID: id} {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			to.ServeHTTP(w, r)
			return w
		}
		working.hints = nil
		failed, done := post(toBroken), post(toWorking)
		stored := working.count()
		if ok(failed) && (!ok(done) || stored > 0) {
			t.Errorf("%d although the sink is broken, and with one that works %d and %d hints", failed.Code, done.Code, stored)
		}
		if !ok(done) && stored > 0 {
			t.Errorf("%d, and %d hints are stored", done.Code, stored)
		}
		for _, w := range []*httptest.ResponseRecorder{failed, done} {
			if !known(w.Code) || w.Header().Get("Location") != "" || w.Code == http.StatusInternalServerError {
				t.Errorf("answered with %d %v %s", w.Code, w.Header(), w.Body)
			}
		}
	})
}

func ok(w *httptest.ResponseRecorder) bool { return w.Code/100 == 2 }

func known(code int) bool {
	for _, c := range answers {
		if c == code {
			return true
		}
	}
	return false
}
