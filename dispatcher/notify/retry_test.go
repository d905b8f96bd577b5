package notify

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTries(t *testing.T) {
	again := func() (*http.Response, error) { return answer(503), nil }
	cases := map[string]struct {
		reason string
		answer func() (*http.Response, error)
		// at are the seconds after the first try at which there is one.
		at []float64
	}{
		"taken":                 {"there is nothing more to do", func() (*http.Response, error) { return answer(200), nil }, []float64{0}},
		"unavailable":           {"it may pass, but not for ever", again, []float64{0, 1, 3, 7}},
		"connection lost":       {"it may pass", func() (*http.Response, error) { return nil, errors.New("reset") }, []float64{0, 1, 3, 7}},
		"asks for patience":     {"it gets what it asks for", func() (*http.Response, error) { return answer(429, "Retry-After", "5"), nil }, []float64{0, 5, 10, 15}},
		"asks for a year":       {"others wait behind", func() (*http.Response, error) { return answer(503, "Retry-After", "31536000"), nil }, []float64{0, 30, 60, 90}},
		"asks in words":         {"they mean nothing", func() (*http.Response, error) { return answer(503, "Retry-After", "soon"), nil }, []float64{0, 1, 3, 7}},
		"asks below zero":       {"that means nothing", func() (*http.Response, error) { return answer(503, "Retry-After", "-7"), nil }, []float64{0, 1, 3, 7}},
		"bad request":           {"it will be bad again", func() (*http.Response, error) { return answer(400), nil }, []float64{0}},
		"gone":                  {"it stays away", func() (*http.Response, error) { return answer(410), nil }, []float64{0}},
		"redirect":              {"it is not followed, and will be there again", func() (*http.Response, error) { return answer(302), nil }, []float64{0}},
		"request took too long": {"that is the receiver's way to ask for another one", func() (*http.Response, error) { return answer(408), nil }, []float64{0, 1, 3, 7}},
		"no answer in ten":      {"nobody waits longer", nil, []float64{0, 11, 23, 37}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, AlertOptions{URL: "http://chat.example"})
				start := time.Now()
				var at []float64
				d.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
					at = append(at, time.Since(start).Seconds())
					if tc.answer == nil {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					return tc.answer()
				})
				d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
				d.during(t, func() {
					for time.Since(start) < 5*time.Minute {
						<-time.After(time.Minute)
					}
				})
				if diff := cmp.Diff(tc.at, at); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}
