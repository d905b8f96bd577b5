package api

import (
	"net/http"
	"time"

	"github.com/reroll-dev/reroll/api/clients"
)

// rateLimit refuses requests of a client that makes more than perSecond in the long run. Clients are distinguished by address.
func rateLimit(perSecond float64) func(http.Handler) http.Handler {
	rates := clients.NewRates(perSecond, int(max(1, perSecond*rateBurstSeconds)))
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !rates.Allow(clients.Of(r.RemoteAddr), time.Now()) {
				w.Header().Set("Retry-After", "1")
				writeProblem(w, http.StatusTooManyRequests, "Too many requests: retry in 1 s.")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
