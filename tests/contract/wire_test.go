package contract_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/contract"
	"github.com/reroll-dev/reroll/tests/ui/showcase"
)

// near starts the API over a made-up fleet behind what stands before it, and returns a wire to it with the URL of its near end.
func near(t *testing.T, before func(http.Handler) http.Handler) (*contract.Wire, string) {
	t.Helper()
	fleet := showcase.New(time.Now())
	fleet.Fill(10)
	handler, err := fleet.Handler()
	if err != nil {
		t.Fatal(err)
	}
	far := httptest.NewServer(before(handler))
	t.Cleanup(far.Close)
	t.Cleanup(far.CloseClientConnections)
	wire, err := contract.Tap(t.Context(), http.DefaultTransport, far.URL)
	if err != nil {
		t.Fatal(err)
	}
	api, err := url.Parse(far.URL)
	if err != nil {
		t.Fatal(err)
	}
	end := httptest.NewServer(wire.Handler(api))
	t.Cleanup(end.Close)
	return wire, end.URL
}

// spoiled stands before the API and answers with a field of which its document knows nothing.
func spoiled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, contract.Prefix) {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(bytes.Replace(answer.Body.Bytes(), []byte(`"version":`), []byte(`"mood":"good","version":`), 1))
	})
}

func untouched(next http.Handler) http.Handler { return next }

// TestWireTellsWhatTheDocumentDoesNotKnow, and hands it on as it is.
func TestWireTellsWhatTheDocumentDoesNotKnow(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(http.Handler) http.Handler
		fault  string
	}{"as described": {untouched, ""}, "spoiled": {spoiled, "mood"}} {
		t.Run(name, func(t *testing.T) {
			wire, at := near(t, tc.before)
			code, body := get(t, at+"/api/v1/self")
			if code != http.StatusOK || strings.Contains(body, "mood") != (tc.fault != "") {
				t.Errorf("%d %s", code, body)
			}
			err := wire.Faults()
			if (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("faults: %v, want one about %q", err, tc.fault)
			}
			if seen := wire.Seen(); seen["GET self 200"] != 1 || len(seen) != 1 {
				t.Errorf("seen: %v", seen)
			}
		})
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
