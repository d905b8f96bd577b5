package api

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits bounds what one client can take from a server. All limits of the API's and the operations server are here.
type Limits struct {
	// ReadHeaderTimeout and ReadTimeout bound how long a request may take to arrive, WriteTimeout how long its answer may take,
	// and IdleTimeout how long a connection may wait for the next request.
	ReadHeaderTimeout time.Duration
	ReadTimeout       time.Duration
	WriteTimeout      time.Duration
	IdleTimeout       time.Duration
	// MaxHeaderBytes bounds the request line and the headers together.
	MaxHeaderBytes int
	// MaxBodyBytes bounds a request's body. Nothing reads one yet; a client may send a small one without harm.
	MaxBodyBytes int64
}

// DefaultLimits returns the limits to use unless there is a reason for others.
func DefaultLimits() Limits {
	return Limits{
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		MaxBodyBytes:      64 << 10,
	}
}

// Limits on listings.
const (
	// retryAfterSeconds is when to ask again what could not be answered because the records are still being read.
	retryAfterSeconds = "2"
)

// HTTPServer returns a server for handler that keeps to limits and reports the faults of connections to logger. The caller sets
// its address or listener, and serves.
func HTTPServer(handler http.Handler, limits Limits, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           limitBody(limits.MaxBodyBytes)(handler),
		ReadHeaderTimeout: limits.ReadHeaderTimeout,
		ReadTimeout:       limits.ReadTimeout,
		WriteTimeout:      limits.WriteTimeout,
		IdleTimeout:       limits.IdleTimeout,
		MaxHeaderBytes:    limits.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// limitBody refuses a request that announces more than most bytes, and cuts one that sends more than that all the same.
func limitBody(most int64) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > most {
				writeProblem(w, http.StatusRequestEntityTooLarge, "The request's body is too large.")
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, most)
			next.ServeHTTP(w, r)
		})
	}
}
