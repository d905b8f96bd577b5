package api

import (
	"context"
	"net/http"

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

// scans lets each client walk through what is kept a bounded number of times at once: however many clients ask, each gets its share.
type scans struct{ turns *clients.Turns }

// begin waits for the client of ctx to have its turn, which ends with done.
func (s scans) begin(ctx context.Context) (done func(), err error) {
	done, err = s.turns.Take(ctx, clientOf(ctx))
	if err != nil {
		return nil, huma.Error503ServiceUnavailable("The request was cancelled while it waited for an answer.")
	}
	return done, nil
}
