package api

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rateLimit refuses requests of a client that makes more than perSecond in the long run. Clients are told apart by address.
func rateLimit(perSecond float64) func(http.Handler) http.Handler {
	limiters := &clientLimiters{perSecond: rate.Limit(perSecond), burst: int(max(1, perSecond*rateBurstSeconds)), byClient: map[string]*rate.Limiter{}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !limiters.allow(clientOf(r.RemoteAddr), time.Now()) {
				w.Header().Set("Retry-After", "1")
				writeProblem(w, http.StatusTooManyRequests, "This address asks too often; try again in a second.")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// clientLimiters has a limiter for each of a bounded number of clients. Those beyond share one.
type clientLimiters struct {
	perSecond rate.Limit
	burst     int

	mu       sync.Mutex
	byClient map[string]*rate.Limiter
}

func (c *clientLimiters) allow(client string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.byClient[client]
	if !ok && len(c.byClient) >= maxRatedClients {
		c.forget(now)
	}
	if !ok && len(c.byClient) >= maxRatedClients {
		client = ""
		l, ok = c.byClient[client]
	}
	if !ok {
		l = rate.NewLimiter(c.perSecond, c.burst)
		c.byClient[client] = l
	}
	return l.AllowN(now, 1)
}

// forget drops the clients that have asked nothing for so long that they are as good as new.
func (c *clientLimiters) forget(now time.Time) {
	for client, l := range c.byClient {
		if l.TokensAt(now) >= float64(c.burst) {
			delete(c.byClient, client)
		}
	}
}

// clientOf returns what stands for a client: its address or, since one host may have any number of IPv6 addresses, its /64 network.
func clientOf(remote string) string {
	address, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := address.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
