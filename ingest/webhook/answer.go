package webhook

import (
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusal is an answer other than success. A nil refusal is success.
type refusal struct {
	code int
	// message says what to do about it, and quotes nothing of the body.
	message string
	// cause is for the log alone.
	cause error
}

func refuse(code int, message string) *refusal { return &refusal{code: code, message: message} }

// requestID is Amazon Data Firehose's header for the ID of a request. It expects it in the answer.
const requestID = "X-Amz-Firehose-Request-Id"

// firehoseAnswer is the body of every answer to Amazon Data Firehose, which takes an answer of another form for a failure.
type firehoseAnswer struct {
	RequestID string `json:"requestId"`
	// Timestamp is in milliseconds since 1970.
	Timestamp    int64  `json:"timestamp"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// write answers r and returns the status.
func (h *handler) write(w http.ResponseWriter, r *http.Request, no *refusal) int {
	id := r.Header.Get(requestID)
	if no == nil && id == "" {
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent
	}
	w.Header().Set("Content-Type", "application/json")
	code, message := http.StatusOK, ""
	if no != nil {
		code, message = no.code, no.message
		setHeader(w.Header(), r, code)
	}
	var answer any = metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Message: message, Code: int32(code),
	}
	if id != "" {
		answer = firehoseAnswer{RequestID: id[:min(len(id), maxRequestID)], Timestamp: h.opts.Now().UnixMilli(), ErrorMessage: message}
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // an error means that the sender has gone
	return code
}

// setHeader sets what belongs to a refusal.
func setHeader(header http.Header, r *http.Request, code int) {
	switch code {
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", strconv.Itoa(retryAfter()))
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodPost)
	}
	if r.ProtoMajor < 2 && r.ContentLength != 0 {
		// Otherwise the server would read what is left of a body that it has just refused. HTTP/2 resets the stream.
		header.Set("Connection", "close")
	}
}
