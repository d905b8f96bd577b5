package webhook

import (
	"cmp"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/ingest/audit"
)

// Limits bound what one server takes. A zero field means its default.
type Limits struct {
	// BodyBytes is how long a body may be, and how long all bodies of one route that are read and stored at a time may be together. The default
	// covers 400 events, the API server's default, of 100 KiB, at which it truncates if told to. More are answered with 503. A body of
	// unknown length counts as the longest, and a short one as a part of this, which bounds their number too.
	BodyBytes int64
	// InflatedBytes is how long a compressed body may be when it is not.
	InflatedBytes int64
	// Decode bounds what a body may hold.
	Decode audit.Limits
}

// The defaults of Limits.
const (
	DefaultBodyBytes     = 48 << 20
	DefaultInflatedBytes = 64 << 20
)

// The limits of a connection, and of files.
const (
	readHeaderTimeout = 5 * time.Second
	// readTimeout covers the whole request, and each stream of HTTP/2. The sender gives up after 30 s.
	readTimeout = 30 * time.Second
	// budget is the time for storing the hints of a body. With a longer one API servers would send again before it ends.
	budget = 10 * time.Second
	// senderPatience ends the storing of a body whose arrival took long: its sender has gone.
	senderPatience = 29 * time.Second
	writeTimeout   = 35 * time.Second
	// idleTimeout is longer than the 90 s for which an API server keeps an idle connection. If this side closed first, a batch
	// could meet the closing and be delayed by 10 s.
	idleTimeout    = 120 * time.Second
	maxHeaderBytes = 64 << 10
	// maxStreams is above what an API server needs: it starts at most 10 batches a second.
	maxStreams  = 128
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
	drainRound  = 500 * time.Millisecond
	// fileCheck is how long a certificate, CA or token file is trusted before it is read again.
	fileCheck       = time.Second
	maxTokens       = 4096
	minTokenLength  = 16
	maxTokenLength  = 1024
	maxRequestID    = 128
	serverLogEvery  = time.Second
	serverLogAtOnce = 10
)

func (l Limits) withDefaults() Limits {
	return Limits{BodyBytes: cmp.Or(l.BodyBytes, DefaultBodyBytes), InflatedBytes: cmp.Or(l.InflatedBytes, DefaultInflatedBytes), Decode: l.Decode}
}

// limiter bounds the bodies that are read and stored at a time. One request is always admitted, whatever its size.
type limiter struct {
	*semaphore.Weighted
	least, most int64
}

func newLimiter(l Limits, bodies int64) limiter {
	return limiter{semaphore.NewWeighted(l.BodyBytes), l.BodyBytes / bodies, l.BodyBytes}
}

// weight returns what a body counts with; its length is negative if unknown.
func (l limiter) weight(length int64) int64 {
	if length < 0 {
		return l.most
	}
	return min(max(length, l.least), l.most)
}

// retryAfter returns the seconds after which a sender that was answered 503 shall come back: 2 to 4. With a value in that range an
// API server tries up to 50 times in 4 minutes; without one, 5 times in 90 s; with 0 it would flood.
func retryAfter() int { return 2 + rand.IntN(3) }
