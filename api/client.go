package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/clients"
)

type addressKey struct{}

// addressed keeps the address of who makes a request with it.
func addressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, clients.Of(r.RemoteAddr))))
	})
}

// clientOf returns what stands for who makes the request of ctx: the user, from wherever they ask, or else the address.
func clientOf(ctx context.Context) string {
	if user, ok := userOf(ctx); ok {
		return "user " + user.Name
	}
	address, _ := ctx.Value(addressKey{}).(string)
	return "address " + address
}

// scan waits until the client of ctx may walk through what is kept, until done. However many clients ask, each gets its share.
func (a *server) scan(ctx context.Context) (done func(), err error) {
	done, err = a.scans.Take(ctx, clientOf(ctx))
	if err != nil {
		return nil, huma.Error503ServiceUnavailable("The request was cancelled while it waited for an answer.")
	}
	return done, nil
}

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
