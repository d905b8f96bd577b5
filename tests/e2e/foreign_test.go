package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestForeignHost: anyone who has their own name lead to the loopback reads nothing of an API that tells nobody apart, which is the default.
func TestForeignHost(t *testing.T) {
	_, port, _ := strings.Cut(strings.TrimPrefix(shared.Reroll.API, "http://"), ":")
	for host, want := range map[string]int{"127.0.0.1:" + port: 200, "localhost:" + port: 200, "localhost:6000": 200, "evil.example": 403, "evil.example:" + port: 403} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.Reroll.API+"/api/v1/changes", nil)
		line.Must(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		line.Must(t, err)
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("asked as %s: %s, want %d", host, response.Status, want)
		}
	}
}
