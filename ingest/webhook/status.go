package webhook

import (
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusal is an answer other than success. A nil refusal is success.
type refusal struct {
	code    int
	reason  metav1.StatusReason
	message string
	// cause is for the log alone.
	cause error
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	switch no.code {
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
	w.WriteHeader(no.code)
	// An error here means that the sender is gone, and there is nobody else to tell.
	if answer, wanted := answerTo(r, h.opts.Now(), no.message); wanted {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  no.message,
		Reason:   no.reason,
		Code:     int32(no.code),
	})
}
