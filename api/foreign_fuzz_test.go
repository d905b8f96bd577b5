package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// FuzzOrders posts what changes something. What is passed on must be a command that a dispatcher would read.
func FuzzOrders(f *testing.F) {
	x := newFixture(f)
	x.populate()
	x.unchecked = true
	d := x.guard(f, door{allowed: everything})
	paths := []string{
		workloadPath + "/reload", workloadPath + "/retry", "/api/v1/configs/local/shop/Secret/password/retry",
		clusterPath + "/pause", clusterPath + "/resume", clusterPath + "/freeze", clusterPath + "/thaw", "/api/v1/impact",
	}
	for i := range paths {
		f.Add(byte(i), "application/json", "k-1", []byte(`{"namespace":"shop","selector":"app=cart","until":"2030-01-01T00:00:00Z","reason":"sale"}`))
		f.Add(byte(i), "application/json", "", []byte(`{"reason":"`+strings.Repeat("ü", 256)+`"}`))
		f.Add(byte(i), "application/json; charset=utf-8", "a b", []byte(`{"until":"9999-12-31T23:59:59-23:59","namespace":"*"}`))
		f.Add(byte(i), "text/plain", "", []byte(`null`))
		f.Add(byte(i), "application/json", "", []byte(`[{"until":1e999}]`))
	}
	f.Fuzz(func(t *testing.T, route byte, media, key string, body []byte) {
		d.given = nil
		r := httptest.NewRequest(http.MethodPost, paths[int(route)%len(paths)], strings.NewReader(string(body)))
		r.Header.Set("Content-Type", media)
		r.Header.Set("Authorization", "alice")
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		if w := x.do(t, r); w.Code >= http.StatusInternalServerError || w.Code != http.StatusOK && len(d.given) > 0 {
			t.Errorf("%s: %d %s, given %+v", body, w.Code, w.Body, d.given)
		}
		for _, c := range d.given {
			data, err := reloader.Encode(c)
			if err == nil {
				_, err = reloader.Decode[reloader.Command](data)
			}
			if err != nil || c.User != "alice" || c.Cluster != "local" {
				t.Errorf("%s became %+v, which no dispatcher reads: %v", body, c, err)
			}
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
	offered := []string{"application/json", graphType, eventStream}
	f.Fuzz(func(t *testing.T, accept, lastID string) {
		if media := pick([]string{accept}, offered); media != "" && !slices.Contains(offered, media) {
			t.Errorf("%q picks %q", accept, media)
		}
		s := &stream{server: &server{records: x.records}}
		if reason := s.place(lastID); s.at > x.records.LastEvent() || reason == "" && lastID == "" && s.at != x.records.LastEvent() {
			t.Errorf("%q goes on behind event %d of %d: %q", lastID, s.at, x.records.LastEvent(), reason)
		}
	})
}
