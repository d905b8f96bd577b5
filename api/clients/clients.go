// Package clients bounds what one client can take from a server, so that the others get theirs.
//
// Its tables are bounded themselves: however many clients there are, they take no more memory than a fixed number of entries.
package clients

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// most bounds how many clients are distinguished.
const most = 4096

// Of returns what stands for the client at a remote address: its IP address or, because one host may have any number of IPv6 addresses,
// its /64 network.
func Of(remote string) string {
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

// Rates has a rate limit for each of a bounded number of clients. Those beyond share one. Make it with NewRates.
type Rates struct {
	perSecond rate.Limit
	burst     int

	mu       sync.Mutex
	byClient map[string]*rate.Limiter
}

// NewRates returns limits of perSecond in the long run, and of burst at once.
func NewRates(perSecond float64, burst int) *Rates {
	return &Rates{perSecond: rate.Limit(perSecond), burst: burst, byClient: map[string]*rate.Limiter{}}
}

// Allow takes one from what a client may use, and reports whether there was one.
func (r *Rates) Allow(client string, now time.Time) bool { return r.of(client, now).AllowN(now, 1) }

// Spent reports whether Allow would refuse, and takes nothing.
func (r *Rates) Spent(client string, now time.Time) bool { return r.of(client, now).TokensAt(now) < 1 }

// of returns the limiter of a client. If there are too many clients, those are forgotten that have used nothing for so long that they are as good as
// new, and if that is not enough, the client gets the limiter of all others.
func (r *Rates) of(client string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.byClient[client]
	if !ok && len(r.byClient) >= most {
		maps.DeleteFunc(r.byClient, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(r.burst) })
	}
	if !ok && len(r.byClient) >= most {
		client = ""
		l, ok = r.byClient[client]
	}
	if !ok {
		l = rate.NewLimiter(r.perSecond, r.burst)
		r.byClient[client] = l
	}
	return l
}
