package webhook

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/reroll-dev/reroll/ingest/audit"
)

// Limits bound what one server takes. A zero field means its default.
type Limits struct {
	// BodyBytes is how long a body may be. The default covers 400 events, the API server's default, of 100 KiB, at which it
	// truncates if told to.
	BodyBytes int64
	// Concurrent is how many bodies are read and stored at a time. More are answered with 503.
	Concurrent int
	// BytesAtOnce is how long all bodies that are read and stored at a time may be together; one of unknown length counts as the
	// longest, and one that takes more memory than its length, as a compressed one does, counts with that. More are answered with 503.
	BytesAtOnce int64
	// InflatedBytes is how long a compressed body of the shipped route may be when it is not.
	InflatedBytes int64
	// ConcurrentShipped is as Concurrent, for the shipped route, so that shippers that catch up keep no API server waiting.
	ConcurrentShipped int
	// Budget is the time for storing the hints of a body.
	Budget time.Duration
	// FileCheck is how long a certificate, CA or token file is trusted before it is read again. Reading happens on use.
	FileCheck time.Duration
	// Decode bounds what a body may hold.
	Decode audit.Limits
}

// The defaults of Limits.
const (
	DefaultBodyBytes         = 48 << 20
	DefaultConcurrent        = 64
	DefaultBytesAtOnce       = 2 * DefaultBodyBytes
	DefaultInflatedBytes     = 128 << 20
	DefaultConcurrentShipped = 16
	DefaultBudget            = 10 * time.Second
	DefaultFileCheck         = time.Second
)

// The limits of a connection.
const (
	readHeaderTimeout = 5 * time.Second
	// readTimeout covers the whole request, and each stream of HTTP/2. The sender gives up after 30 s.
	readTimeout = 30 * time.Second
	// senderPatience ends the storing of a body whose arrival took long: nobody would hear the answer.
	senderPatience = 29 * time.Second
	writeTimeout   = 35 * time.Second
	// idleTimeout is longer than the 90 s for which an API server keeps an idle connection. If this side closed first, a batch
	// could meet the closing and be delayed by 10 s.
	idleTimeout    = 120 * time.Second
	maxHeaderBytes = 64 << 10
	// maxStreams is above what an API server needs: it starts at most 10 batches a second.
	maxStreams      = 128
	pingAfter       = 30 * time.Second
	pingTimeout     = 15 * time.Second
	drainRound      = 500 * time.Millisecond
	maxTokenFile    = 1 << 20
	maxTokens       = 4096
	minTokenLength  = 16
	maxTokenLength  = 1024
	maxPEMFile      = 4 << 20
	maxRequestID    = 128
	serverLogEvery  = time.Second
	serverLogAtOnce = 10
)

func (l Limits) withDefaults() Limits {
	return Limits{
		BodyBytes:         cmp.Or(l.BodyBytes, DefaultBodyBytes),
		Concurrent:        cmp.Or(l.Concurrent, DefaultConcurrent),
		BytesAtOnce:       cmp.Or(l.BytesAtOnce, DefaultBytesAtOnce),
		InflatedBytes:     cmp.Or(l.InflatedBytes, DefaultInflatedBytes),
		ConcurrentShipped: cmp.Or(l.ConcurrentShipped, DefaultConcurrentShipped),
		Budget:            cmp.Or(l.Budget, DefaultBudget),
		FileCheck:         cmp.Or(l.FileCheck, DefaultFileCheck),
		Decode:            l.Decode,
	}
}

// validate reports limits that no default replaces.
func (l Limits) validate() error {
	if l.BodyBytes < 0 || l.Concurrent < 0 || l.BytesAtOnce < 0 || l.Budget < 0 || l.InflatedBytes < 0 || l.ConcurrentShipped < 0 {
		return fmt.Errorf("ingest limits must not be negative")
	}
	if l.Budget > DefaultBudget {
		return fmt.Errorf("ingest budget %s is longer than %s: API servers would send again before it ends", l.Budget, DefaultBudget)
	}
	return nil
}

// retryAfter returns the seconds after which a sender that was told 503 shall come back: 2 to 4. With a value in that range an
// API server tries up to 50 times in 4 minutes; without one, 5 times in 90 s; with 0 it would flood.
func retryAfter() int { return 2 + rand.IntN(3) }
