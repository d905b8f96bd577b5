package webhook

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
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
			if !slices.Contains(answers, w.Code) || w.Header().Get("Location") != "" || w.Code == http.StatusInternalServerError {
				t.Errorf("answered with %d %v %s", w.Code, w.Header(), w.Body)
			}
		}
	})
}

func ok(w *httptest.ResponseRecorder) bool { return w.Code/100 == 2 }

// FuzzSender takes any names from a certificate, and any header. Who is let in speaks for clusters alone whose name stands there as a whole, and
// nobody speaks for one by a token that is not in the file.
func FuzzSender(f *testing.F) {
	f.Add("prod", "test.audit.reroll.dev", "Bearer "+secretToken, "")
	f.Add("prod.audit.reroll.dev", "*.audit.reroll.dev", "bearer  "+secretToken, "x")
	f.Add(".audit.reroll.dev", "a.b.audit.reroll.dev", "Basic "+secretToken, secretToken)
	f.Add("prod\x00.audit.reroll.dev", "prod.audit.reroll.dev.", "Bearer", "")
	f.Add("audit.reroll.dev.audit.reroll.dev", "PROD.AUDIT.REROLL.DEV", "Bearer \x00", "")
	known, err := parseTokens([]byte("prod:" + secretToken + "\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, common, alternative, authorization, key string) {
		certificate := &x509.Certificate{Subject: pkix.Name{CommonName: common}, DNSNames: []string{alternative}}
		for _, cluster := range certificateClusters(certificate) {
			named := []string{common, alternative}
			if reloader.ValidateCluster(cluster) != nil || !slices.Contains(named, cluster+certificateDomain) {
				t.Errorf("%q speaks for %q", named, cluster)
			}
		}
		r := &http.Request{Header: http.Header{"Authorization": {authorization}, accessKey: {key}}}
		if secret, sent := bearer(r); sent {
			if cluster := known.cluster(secret); (cluster == "prod") != (secret == secretToken) || cluster != "" && cluster != "prod" {
				t.Errorf("%q is taken for the token of %q", secret, cluster)
			}
		}
	})
}
