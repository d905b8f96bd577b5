package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// localhost refuses requests that name this server by anything but an address, localhost or a name below it. Whoever owns another name can have
// it lead to this machine's loopback, and a browser then takes this server's answers for those of their page.
func localhost(denied *prometheus.CounterVec) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isLocal(r.Host) {
				denied.WithLabelValues(deniedForeignHost).Inc()
				writeProblem(w, http.StatusForbidden, "Nobody is told apart here (--auth=none), so this server answers to localhost and to addresses alone: "+
					"a name may be of a page that somebody has brought here. Ask for http://127.0.0.1, or give the server another --auth.")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// isLocal reports whether a host, which may have a port, is an address or a name that can be no other machine's.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	name := "." + strings.ToLower(strings.TrimSuffix(host, "."))
	return strings.HasSuffix(name, ".localhost")
}
