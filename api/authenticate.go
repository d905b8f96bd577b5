package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Why a request is denied, as the metric says.
const (
	deniedUnauthenticated = "Unauthenticated"
	deniedForbidden       = "Forbidden"
	deniedCrossOrigin     = "CrossOrigin"
	deniedForeignHost     = "ForeignHost"
	deniedUnavailable     = "Unavailable"
	deniedTooManyFailures = "TooManyFailures"
)

const deniedHelp = "Requests to the API that were denied, by reason: Unauthenticated, Forbidden, " +
	"CrossOrigin, ForeignHost (a name that may be anybody's), TooManyFailures (an address whose tokens were refused too often), " +
	"or Unavailable (the API server did not say who it is or what they may do)."

// deniedReasons are all of them.
var deniedReasons = []string{deniedUnauthenticated, deniedForbidden, deniedCrossOrigin, deniedForeignHost, deniedTooManyFailures, deniedUnavailable}

type userKey struct{}

// userOf returns who makes the request of ctx.
func userOf(ctx context.Context) (User, bool) {
	user, ok := ctx.Value(userKey{}).(User)
	return user, ok
}

// guarded reports whether what lies at a path is only for those who prove who they are. The document and the files of the dashboard
// say nothing about any cluster.
func guarded(path string) bool { return strings.HasPrefix(path, "/api/") }

// authenticate lets requests for data through that prove who makes them. Without access, all are.
func authenticate(access Access, denied *prometheus.CounterVec, logger *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if access == nil || !guarded(r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			user, ok, err := access.Authenticate(r)
			switch {
			case errors.Is(err, ErrTooManyFailures):
				denied.WithLabelValues(deniedTooManyFailures).Inc()
				w.Header().Set("Retry-After", "1")
				writeProblem(w, http.StatusTooManyRequests, "Too many tokens from this address were refused: retry in 1 s with a valid one.")
			case err != nil:
				denied.WithLabelValues(deniedUnavailable).Inc()
				logger.WarnContext(r.Context(), "a client could not be authenticated", "error", err)
				w.Header().Set("Retry-After", retryAfterSeconds)
				writeProblem(w, http.StatusServiceUnavailable, "Authentication is unavailable: the API server does not answer. Try again.")
			case !ok:
				denied.WithLabelValues(deniedUnauthenticated).Inc()
				w.Header().Set("WWW-Authenticate", `Bearer realm="reroll"`)
				writeProblem(w, http.StatusUnauthorized, "Authentication required: send a bearer token or a client certificate that this server accepts.")
			default:
				next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
			}
		})
	}
}

// sameOrigin refuses requests by which a page of another origin could do something in the name of anyone who looks at it: browsers send
// client certificates and the cookies of proxies along by themselves.
func sameOrigin(denied *prometheus.CounterVec) func(http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		denied.WithLabelValues(deniedCrossOrigin).Inc()
		writeProblem(w, http.StatusForbidden, "The request comes from a page of another origin.")
	}))
	return protection.Handler
}

// permit returns the problem of who may not do d; nil if they may.
func (a *server) permit(ctx context.Context, d Deed) error {
	allowed, err := a.may(ctx, d)
	if err != nil || allowed {
		return err
	}
	user, _ := userOf(ctx)
	a.denied.WithLabelValues(deniedForbidden).Inc()
	return huma.Error403Forbidden(d.refusal(user.Name))
}

// may reports whether who asks may do d, or returns the problem that it is unknown. Without access, everybody may read. Where there are rights, everybody
// may, and sees what their reach has.
func (a *server) may(ctx context.Context, d Deed) (bool, error) {
	if a.access == nil {
		return true, nil
	}
	user, ok := userOf(ctx)
	if !ok { // No route leads here without authenticate; one that did must not be open.
		a.denied.WithLabelValues(deniedUnauthenticated).Inc()
		return false, huma.Error401Unauthorized("Authentication required: send a bearer token.")
	}
	if len(a.rights) > 0 {
		return true, nil
	}
	allowed, err := a.access.Allowed(ctx, user, d)
	if err == nil {
		return allowed, nil
	}
	a.denied.WithLabelValues(deniedUnavailable).Inc()
	a.logger.WarnContext(ctx, "a client could not be authorised", "error", err)
	return false, huma.ErrorWithHeaders(
		huma.Error503ServiceUnavailable("Authorization is unavailable: the API server does not answer. Try again."),
		http.Header{"Retry-After": {retryAfterSeconds}},
	)
}

// sees reports whether who asks may do d. A missing right is not a denial: they did not ask for it.
func (a *server) sees(ctx context.Context, d Deed) bool {
	allowed, err := a.may(ctx, d)
	return err == nil && allowed
}

// refusal says who may not do d, and what would help.
func (d Deed) refusal(user string) string {
	what := user + " may not " + d.Verb + " " + d.Resource + " of the group reroll.dev"
	switch {
	case d.Namespace != "":
		return what + " in the namespace " + d.Namespace + "."
	case d.Resource == resourceClusters:
		return what + "."
	}
	return what + " in all namespaces. Ask for one with the parameter namespace, if there is one that you may look at."
}
