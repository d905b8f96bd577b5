package admission

import "time"

// The limits of the webhook.
const (
	// maxBodyBytes bounds a review, which has the object before and after. An API server takes requests of 3 MiB.
	maxBodyBytes = 8 << 20
	// maxMemory bounds the bytes of all reviews together: their bodies, readBytes for each, and content for Wave's hash, which is made of several configs.
	maxMemory = 32 << 20
	// readsAtOnce is how many configs one review reads at a time, and readBytes what they hold until their digest is made.
	readsAtOnce = 2
	readBytes   = readsAtOnce << 20
	// maxConfigs bounds the configs that are read for one workload.
	maxConfigs = 128
	// longestReview bounds the time for one review. If the API server waits for less, the answer is sent earlier by margin.
	longestReview, margin = 2 * time.Second, 300 * time.Millisecond
	// shortestReview is the shortest time that makes an attempt worthwhile.
	shortestReview = 200 * time.Millisecond
	// maxWarning bounds a warning, which API servers cut off, and maxUID the ID of a review, which is repeated in the answer.
	maxWarning = 240
	maxUID     = 128
)
