package admission

import (
	"time"
)

// The limits of the webhook.
const (
	// maxBodyBytes bounds a review, which has the object before and after. An API server takes requests of 3 MiB.
	maxBodyBytes = 8 << 20
	// maxConcurrent is how many reviews are worked on at a time; others wait for their turn, as long as their time lasts.
	maxConcurrent = 16
	// maxBodies bounds the bytes of the bodies that are worked on at a time. Larger reviews wait for their turn, too.
	maxBodies = 16 << 20
	// maxReads is how many configs are read at a time for all reviews. Each is at most 1 MiB, and is dropped once it is fingerprinted.
	maxReads = 16
	// maxKept bounds the bytes of content that all reviews keep at a time. Wave's hash alone is made of several configs together.
	maxKept = 16 << 20
	// maxConfigs is of how many configs one workload may be marked.
	maxConfigs = 128
	// readsAtOnce is how many configs are read for one review at a time.
	readsAtOnce = 8
	// longestReview bounds the work on one review. An API server that waits for less time is answered before it gives up: margin before.
	longestReview = 2 * time.Second
	margin        = 300 * time.Millisecond
	// shortestReview is how long it takes at least to be worth the try.
	shortestReview = 200 * time.Millisecond
	// maxWarning bounds a warning, which API servers cut off.
	maxWarning = 240
	// maxUID bounds the name of a request, which is repeated in the answer.
	maxUID = 128
)

// The limits of a connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 15 * time.Second
	// idleTimeout is longer than the 90 s for which an API server keeps an idle connection.
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)
