package webhook

import (
	"encoding/json"
	"net/http"
	"time"
)

// requestID is the header by which Amazon Data Firehose names a request. Whoever sends it wants it back.
const requestID = "X-Amz-Firehose-Request-Id"

// firehoseAnswer is the body of every answer to Amazon Data Firehose, which takes an answer of another form for a failure.
type firehoseAnswer struct {
	RequestID string `json:"requestId"`
	// Timestamp is in milliseconds since 1970.
	Timestamp    int64  `json:"timestamp"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// answerTo returns the answer to r if it comes from Amazon Data Firehose.
func answerTo(r *http.Request, at time.Time, message string) (firehoseAnswer, bool) {
	id := r.Header.Get(requestID)
	return firehoseAnswer{RequestID: id[:min(len(id), maxRequestID)], Timestamp: at.UnixMilli(), ErrorMessage: message}, id != ""
}

// accept says that a body is stored, and returns the status with which it did.
func (h *handler) accept(w http.ResponseWriter, r *http.Request) int {
	answer, wanted := answerTo(r, h.opts.Now(), "")
	if !wanted {
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent
	}
	w.Header().Set("Content-Type", "application/json")
	// As with a refusal, an error means that the sender is gone.
	_ = json.NewEncoder(w).Encode(answer)
	return http.StatusOK
}
