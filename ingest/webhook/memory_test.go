//go:build !race

// The race detector makes the JSON library allocate more.

package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// TestMemoryIsBounded posts bodies that would be many times as large when they are decoded as a whole.
func TestMemoryIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		path, body, encoding string
		code                 int
		limit                uint64
	}{
		"empty events":         {"/v1/audit/prod", eventList("{}" + strings.Repeat(",{}", 1<<20)), "", 413, 8 << 20},
		"empty events, lines":  {"/v1/shipped/prod", strings.Repeat("{}\n", 1<<20), "", 413, 8 << 20},
		"empty events, nested": {"/v1/shipped/prod", `{"records":[` + strings.Repeat(`{"data":"e30="},`, 1<<17) + "{}]}", "", 413, 24 << 20},
		"bodies":               {"/v1/audit/prod", eventList(`{"requestObject":"` + strings.Repeat("x", 40<<20) + `"}`), "", 204, 48 << 20},
		"bomb":                 {"/v1/shipped/prod", compressed(strings.Repeat(" ", 40<<20+1), gzipped), "gzip", 413, 200 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(_ *rig, o *Options) { o.Limits.InflatedBytes = 40 << 20 })
			req := r.request(io.NopCloser(strings.NewReader(c.body)), func(r *http.Request) {
				r.URL.Path, r.ContentLength = c.path, int64(len(c.body))
				r.Header.Set("Content-Encoding", c.encoding)
			})
			w := httptest.NewRecorder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r.server.handler.ServeHTTP(w, req)
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; w.Code != c.code || allocated > c.limit {
				t.Errorf("got %d, want %d; %d MB allocated for a body of %d", w.Code, c.code, allocated>>20, len(c.body)>>20)
			}
		})
	}
}
