package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/ingest/audit"
)

// Limits bound what one server takes. A zero field means its default.
type Limits struct {
	// BodyBytes is how long a body may be. The default covers 400 events, the API server's default, of 100 KiB, at which it
	// truncates if told to.
	BodyBytes int64
	// BytesAtOnce is how long all bodies of one route that are read and stored at a time may be together, BodyBytes at least. More are answered
	// with 503. A body of unknown length counts as the longest, and a short one as a 64th of this, or a 16th if it was shipped, which bounds
	// their number too.
	BytesAtOnce int64
	// InflatedBytes is how long a compressed body of the shipped route may be when it is not.
	InflatedBytes int64
	// Budget is the time for storing the hints of a body.
	Budget time.Duration
	// Decode bounds what a body may hold.
	Decode audit.Limits
}

// The defaults of Limits.
const (
	DefaultBodyBytes     = 48 << 20
	DefaultInflatedBytes = 64 << 20
	DefaultBudget        = 10 * time.Second
)

// The limits of a connection, and of files.
const (
	readHeaderTimeout = 5 * time.Second
	// readTimeout covers the whole request, and each stream of HTTP/2. The sender gives up after 30 s.
	readTimeout = 30 * time.Second
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
	body := cmp.Or(l.BodyBytes, DefaultBodyBytes)
	return Limits{
		BodyBytes:     body,
		BytesAtOnce:   max(body, l.BytesAtOnce),
		InflatedBytes: cmp.Or(l.InflatedBytes, DefaultInflatedBytes),
		Budget:        cmp.Or(l.Budget, DefaultBudget),
		Decode:        l.Decode,
	}
}

// validate reports limits that no default replaces.
func (l Limits) validate() error {
	if l.BodyBytes < 0 || l.BytesAtOnce < 0 || l.Budget < 0 || l.InflatedBytes < 0 {
		return errors.New("ingest limits must not be negative")
	}
	if l.Budget > DefaultBudget {
		return fmt.Errorf("ingest budget %s is longer than %s: API servers would send again before it ends", l.Budget, DefaultBudget)
	}
	return nil
}

// limiter bounds the bodies that are read and stored at a time. One request is always admitted, whatever its size.
type limiter struct {
	*semaphore.Weighted
	bytes, least, longest int64
}

func newLimiter(l Limits, bodies int64) limiter {
	return limiter{semaphore.NewWeighted(l.BytesAtOnce), l.BytesAtOnce, l.BytesAtOnce / bodies, l.BodyBytes}
}

// weight returns what a body counts with; its length is negative if unknown.
func (l limiter) weight(length int64) int64 {
	if length < 0 {
		length = l.longest
	}
	return min(max(length, l.least), l.bytes)
}

// retryAfter returns the seconds after which a sender that was answered 503 shall come back: 2 to 4. With a value in that range an
// API server tries up to 50 times in 4 minutes; without one, 5 times in 90 s; with 0 it would flood.
func retryAfter() int { return 2 + rand.IntN(3) }
