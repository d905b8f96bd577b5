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
