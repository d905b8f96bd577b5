package ops

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/api"
)

const (
	// maxBarriers bounds how many barriers are waited for at once; more get 503.
	maxBarriers = 16
	// maxWait bounds the parameter wait, and defaultWait is without it. The server ends an answer soon after maxWait.
	maxWait, defaultWait = 20 * time.Second, 10 * time.Second
	// maxLines bounds the lines of an answer.
	maxLines = 100
)

// Barrier waits, no longer than ctx, until nothing is in flight in a namespace. It returns what still is, and what waits on purpose: one line each.
type Barrier func(ctx context.Context, namespace string) (pending, held []string)

// barrier answers those who reach the loopback of the process, as kubectl port-forward does: the answer names workloads and configs, and costs the API
// server some lists.
func barrier(wait Barrier) http.Handler {
	room := make(chan struct{}, maxBarriers)
	return api.LocalNames(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !fromLoopback(r.RemoteAddr) {
			http.Error(w, "Only the loopback may ask: use kubectl port-forward.", http.StatusForbidden)
			return
		}
		namespace, longest, err := barrierOf(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case room <- struct{}{}:
			defer func() { <-room }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests wait for a barrier already; retry in 1 s.", maxBarriers), http.StatusServiceUnavailable)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), longest)
		defer cancel()
		pending, held := wait(ctx, namespace)
		if len(pending) > 0 {
			w.WriteHeader(http.StatusConflict)
		} else {
			_, _ = fmt.Fprintf(w, "decided: every write in namespace %s before this request\n", namespace)
		}
		_, _ = io.WriteString(w, lines("pending", pending)+lines("held", held))
	}))
}

func lines(word string, all []string) string {
	var text strings.Builder
	for i, line := range all {
		if i == maxLines {
			fmt.Fprintf(&text, "%s: %d more\n", word, len(all)-i)
			break
		}
		fmt.Fprintf(&text, "%s: %s\n", word, oneLine(line))
	}
	return text.String()
}

func fromLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// barrierOf reads the parameters of a request.
func barrierOf(r *http.Request) (namespace string, longest time.Duration, err error) {
	query := r.URL.Query()
	for key, values := range query {
		if key != "namespace" && key != "wait" || len(values) > 1 {
			return "", 0, fmt.Errorf("the parameters are namespace and wait, each once, not %.40q", key)
		}
	}
	if namespace = query.Get("namespace"); !namespaceName.MatchString(namespace) {
		return "", 0, fmt.Errorf("namespace %.80q is not the name of a namespace", namespace)
	}
	longest = defaultWait
	if text := query.Get("wait"); text != "" {
		if longest, err = time.ParseDuration(text); err != nil || longest < 0 || longest > maxWait {
			return "", 0, fmt.Errorf("wait %.40q is not a duration from 0s to %s", text, maxWait)
		}
	}
	return namespace, longest, nil
}
