package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/time/rate"
)

// Server receives audit events. Its life is New, Listen, Serve, Shutdown.
type Server struct {
	opts     Options
	auth     *auth
	handler  http.Handler
	http     *http.Server
	listener net.Listener
}

// New makes a server, which registers its metrics. The error is one line for the person who starts the program. Nothing listens yet.
func New(o Options) (*Server, error) {
	if err := o.validateValues(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	a, err := newAuth(o)
	if err != nil {
		return nil, err
	}
	h := &handler{opts: o, auth: a, metrics: newMetrics(o), refusals: rate.Sometimes{First: serverLogAtOnce, Interval: serverLogEvery}}
	s := &Server{opts: o, auth: a, handler: h.routes()}
	s.http = s.httpServer()
	return s, nil
}

// ClientCertificate returns the client certificate that ends first, of those that were accepted within the last hour; nil if none was.
func (s *Server) ClientCertificate() *x509.Certificate { return s.auth.firstToEnd(s.opts.Now()) }

func (s *Server) httpServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!s.opts.InsecureHTTP)
	server := &http.Server{
		Handler:           s.handler,
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			SendPingTimeout:      pingAfter,
			PingTimeout:          pingTimeout,
		},
		// "OPTIONS *" is for the handler like any other request.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelWarn),
	}
	if !s.opts.InsecureHTTP {
		server.TLSConfig = s.auth.tlsConfig()
	}
	return server
}

// Listen opens the port and returns its address. From here on senders wait; they are answered once Serve runs.
func (s *Server) Listen(ctx context.Context) (net.Addr, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.opts.Address)
	if err != nil {
		return nil, fmt.Errorf("ingest cannot listen: %w", err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); s.opts.InsecureHTTP && (!ok || !tcp.IP.IsLoopback()) {
		err := fmt.Errorf("ingest over insecure HTTP needs a loopback address, and %q is %s", s.opts.Address, l.Addr())
		return nil, errors.Join(err, l.Close())
	}
	s.listener = l
	return l.Addr(), nil
}

// Serve answers requests until Shutdown, and then returns nil. Listen must have succeeded.
func (s *Server) Serve() error {
	serve := func() error { return s.http.ServeTLS(s.listener, "", "") }
	if s.opts.InsecureHTTP {
		serve = func() error { return s.http.Serve(s.listener) }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("ingest server: %w", err)
	}
	return nil
}

// Shutdown closes the port, lets running requests end, and returns. When ctx ends first, it cuts them off; their senders, which
// have no answer, send again.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.drain(ctx)
	if s.listener != nil {
		// Serve may never have run, and then the HTTP server does not know the listener.
		_ = s.listener.Close()
	}
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("ingest shutdown: %w", err), s.http.Close())
}

// drain asks again and again for the connections to end: one of HTTP/2 that was still being made when net/http asked would
// otherwise stay until its client leaves.
func (s *Server) drain(ctx context.Context) error {
	for {
		round, cancel := context.WithTimeout(ctx, drainRound)
		err := s.http.Shutdown(round)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}
