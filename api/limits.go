package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits on connections. All limits of the API's and the operations server are in this file.
const (
	// readHeaderTimeout and readTimeout bound how long a request may take to arrive, writeTimeout how long its answer may take,
	// and idleTimeout how long a connection may wait for the next request.
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes bounds the request line and the headers together, maxBodyBytes a request's body.
	maxHeaderBytes = 32 << 10
	maxBodyBytes   = 64 << 10
)

// Limits on answers.
const (
	// retryAfterSeconds is when to ask again what could not be answered because the records are still being read.
	retryAfterSeconds = "2"
	// DefaultRequestRate is how many requests a client may make in a second, in the long run. At once it may make as many as in
	// rateBurstSeconds: a page of the dashboard asks for a lot.
	DefaultRequestRate = 50
	rateBurstSeconds   = 4
	// scansOfClient is how many questions of one client walk through what is kept at the same time. The others of that client wait.
	scansOfClient = 2
)

// Limits on streams of events.
const (
	// maxStreams bounds how many are open, maxStreamsOfClient how many of them one user or, without authentication, one address has,
	// and streamRetrySeconds is when to try again if they are too many.
	maxStreams         = 1000
	maxStreamsOfClient = 32
	streamRetrySeconds = "30"
	// longestStream is how long a stream lasts whose reader had to prove who it is.
	longestStream = 10 * time.Minute
	// heartbeat is how long a stream is silent at most: proxies cut those that seem dead.
	heartbeat = 10 * time.Second
	// eventWriteTimeout is how long a client may take for one event before it is dropped.
	eventWriteTimeout = 10 * time.Second
	// nudgeEvery is how much time lies at least between two events of a stream.
	nudgeEvery = time.Second
)

// HTTPServer returns a server for handler that keeps to these limits and reports the faults of connections to logger. The caller sets
// its address or listener, and serves. When it is shut down, streams end at once, so that it need not wait for them.
func HTTPServer(handler http.Handler, logger *slog.Logger) *http.Server {
	ending, end := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: limitBody(handler),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), endKey{}, ending.Done())
		},
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	server.RegisterOnShutdown(end)
	return server
}

type endKey struct{}

// endOf returns what is closed when the server that ctx is of shuts down.
func endOf(ctx context.Context) <-chan struct{} {
	end, _ := ctx.Value(endKey{}).(<-chan struct{})
	return end
}

// limitBody refuses a request that announces more than maxBodyBytes, and cuts one that sends more than that all the same.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxBodyBytes {
			writeProblem(w, http.StatusRequestEntityTooLarge, "The request's body is too large.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		next.ServeHTTP(w, r)
	})
}
