package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest: no request is answered with a fault of ours, and every answer is as described.
func FuzzRequest(f *testing.F) {
	api := populated(f)
	paths := []string{
		"/api/v1/changes", "/api/v1/reloads", "/api/v1/workloads", "/api/v1/self",
		"/api/v1/changes/" + aChange(1).ID, "/api/v1/reloads/r-1", cartPath,
		"/api/v1/stats", cartPath + "?configKind=Secret&configName=password", "/api/v1/clusters",
	}
	sequence := cursor("ffffffffffffffff.1", binding("reloads", ReloadFilter{}))
	key := cursor("\x00\x00\xff\x00", binding("workloads", StateFilter{}))
	for i := range paths {
		f.Add(byte(i), "limit=2&since=2026-01-01T00:00:00Z")
		f.Add(byte(i), "since=9999-12-31T23:59:59-23:59&includeBaselines=1")
		f.Add(byte(i), "since=0000-01-01T00:00:00%2B24:00&name=%ff%00")
		f.Add(byte(i), "continue="+sequence)
		f.Add(byte(i), "continue="+key)
		f.Add(byte(i), "limit=-1&limit=%&kind;=x")
		f.Add(byte(i), "outcome=Reloaded&type=Baseline&configKind=Secret")
		f.Add(byte(i), "limit=99999999999999999999&=&&%3D=%26")
	}
	f.Fuzz(func(t *testing.T, route byte, query string) {
		r := httptest.NewRequest("GET", paths[int(route)%len(paths)], nil)
		r.URL.RawQuery = query
		if w := api.do(t, r); w.Code >= http.StatusInternalServerError {
			t.Errorf("?%s: %d %s", query, w.Code, w.Body)
		}
	})
}

// FuzzPath: no path is answered with a fault of ours.
func FuzzPath(f *testing.F) {
	api := newFixture(f)
	f.Add("/api/v1/changes/%00")
	f.Add("/api/v1/workloads/a%2Fb/c/d/e")
	f.Add("//api/v1/../changes/%ff")
	f.Fuzz(func(t *testing.T, path string) {
		target, err := url.ParseRequestURI(path)
		if err != nil || target.Host != "" || path[0] != '/' {
			return // no server gets such a path
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = target
		w := httptest.NewRecorder()
		api.handler.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
	})
}

// FuzzImpact posts questions about impact.
func FuzzImpact(f *testing.F) {
	x := populated(f)
	x.unchecked = true
	f.Add("application/json", []byte(`{"configs":[{"cluster":"local","kind":"Secret","namespace":"shop","name":"password","keys":["a"]}]}`))
	f.Add("application/json; charset=utf-8", []byte(`{"configs":[{"cluster":"","kind":"*"}]}`))
	f.Add("text/plain", []byte(`null`))
	f.Add("application/json", []byte(`[{"configs":1e999}]`))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/impact", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", media)
		if w := x.do(t, r); w.Code >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	})
}
