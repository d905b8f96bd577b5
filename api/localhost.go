package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Hosts says which names a server answers to. Anyone who owns a name can have it lead to any address, and a browser there then takes the
// server's answers for those of their page. That gives them nothing where a page has to bring a token along, nor where a browser checks
// the name against the server's certificate: Hosts is for servers that answer anyone who reaches them.
type Hosts int

// The names that a server may answer to. Addresses and localhost are always among them.
const (
	// AnyHost is for a server whose clients prove who they are.
	AnyHost Hosts = iota
	// LocalHosts is for a server on a loopback address.
	LocalHosts
	// PrivateHosts also lets names through that cannot be those of a page in the internet: those of a cluster or a local network.
	PrivateHosts
)

// privateNames are the ends of names that cannot be registered on the internet.
var privateNames = []string{".localhost", ".svc", ".cluster.local", ".local", ".internal", ".home.arpa"}

// LocalNames returns next for requests that name the server by an address or localhost.
func LocalNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !LocalHosts.allow(r.Host, nil) {
			writeProblem(w, http.StatusForbidden, "This server accepts only localhost and IP addresses as host name. Use http://127.0.0.1.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostCheck refuses requests that name the server by what hosts and more do not let through.
func hostCheck(hosts Hosts, more []string, denied *prometheus.CounterVec) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !hosts.allow(r.Host, more) {
				denied.WithLabelValues(deniedForeignHost).Inc()
				writeProblem(w, http.StatusForbidden, "Unknown host name, which may be that of a web page. "+
					"Use the IP address, add the name to api.hosts, or set api.auth to token.")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// allow reports whether a request may name the server by host, which may have a port.
func (h Hosts) allow(host string, more []string) bool {
	if h == AnyHost {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case strings.HasSuffix("."+name, ".localhost"), slices.Contains(more, name):
		return true
	case h == LocalHosts || name == "":
		return false
	case !strings.Contains(name, "."):
		// A name without a dot is of the local network, unless it is a number: 2130706433 and 0x7f000001 are addresses to some.
		return name[0] > '9'
	}
	return slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(name, end) })
}
