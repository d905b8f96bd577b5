package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzImpact posts questions about impact.
func FuzzImpact(f *testing.F) {
	x := newFixture(f)
	x.populate()
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

// FuzzHeaders reads what clients say about themselves: which media types they take, and which event they have seen last.
func FuzzHeaders(f *testing.F) {
	f.Add("application/json;q=0.5, text/event-stream", "1-7")
	f.Add("*/*;q=0", "-")
	f.Add("text/*;q=nan,,;", "x-18446744073709551616")
	f.Add(strings.Repeat("a/b;q=1,", 2000), "0")
	x := newFixture(f)
	x.populate()
	f.Fuzz(func(t *testing.T, accept, lastID string) {
		if !accepts([]string{accept, eventStream}, eventStream) {
			t.Errorf("%q beside %s refuses it", accept, eventStream)
		}
		s := &stream{server: &server{records: x.records}}
		if reason := s.place(lastID); s.at > x.records.LastEvent() || reason == "" && lastID == "" && s.at != x.records.LastEvent() {
			t.Errorf("%q goes on behind event %d of %d: %q", lastID, s.at, x.records.LastEvent(), reason)
		}
	})
}
