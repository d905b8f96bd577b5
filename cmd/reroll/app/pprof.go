package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/reroll-dev/reroll/api"
)

// servePprof serves profiles of the process, if the settings ask for it. They have an address of their own and are on no other: a
// profile of memory holds what is in it. Without another word that address is on the loopback, and no web page reads it there under a name
// of its own.
func (p *program) servePprof(context.Context) error {
	if !p.settings.EnablePprof {
		return nil
	}
	// A profile lasts as long as its request asks for: the end must not wait for that.
	ctx, cancel := context.WithCancel(context.Background())
	address, err := p.listen("pprof", p.settings.PprofAddr, &http.Server{
		Handler:           api.LocalNames(profiles()),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(p.logger.Handler(), slog.LevelWarn),
	})
	if err != nil {
		cancel()
		return err
	}
	p.onEnd("profiles", func(context.Context) error { cancel(); return nil })
	if tcp, ok := address.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		p.logger.Warn("profiles can be read by whoever reaches the address", "address", address.String())
	}
	return nil
}

// profiles answers the requests of go tool pprof.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
