package webhook

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// route is what differs between the audit webhook and shipped audit logs.
type route struct {
	source    reloader.Source
	decode    func([]byte, audit.Options) (audit.Result, error)
	media     []string
	encodings []string
	bodyBytes int64
	// smaller says how to make bodies shorter.
	smaller string
	places  *places
}

func auditRoute(o Options) *route {
	return &route{
		source: reloader.SourceAudit, decode: audit.Decode, media: []string{"application/json"},
		bodyBytes: o.Limits.BodyBytes, places: &places{maxBodies: o.Limits.Concurrent, maxBytes: o.Limits.BytesAtOnce},
		smaller: "use the audit level Metadata, lower --audit-webhook-batch-max-size, or set --audit-webhook-truncate-enabled",
	}
}

func shippedRoute(o Options) *route {
	return &route{
		source: reloader.SourceShipped, decode: audit.DecodeShipped,
		media:     []string{"application/json", "application/x-ndjson", "application/ndjson", "application/jsonl"},
		encodings: []string{"gzip", "deflate"},
		bodyBytes: o.Limits.BodyBytes, places: &places{maxBodies: o.Limits.ConcurrentShipped, maxBytes: o.Limits.BytesAtOnce},
		smaller: "make the shipper send smaller requests",
	}
}

// checkForm looks at how the body is written.
func (to *route) checkForm(r *http.Request, _ string) *refusal {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !slices.Contains(to.encodings, encoding) {
		message := "the body must not be encoded; remove Content-Encoding"
		if len(to.encodings) > 0 {
			message = "the Content-Encoding must be one of " + strings.Join(to.encodings, ", ") + ", or missing"
		}
		return &refusal{code: http.StatusUnsupportedMediaType, reason: metav1.StatusReasonUnsupportedMediaType, message: message}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || !slices.Contains(to.media, media) {
		return &refusal{
			code: http.StatusUnsupportedMediaType, reason: metav1.StatusReasonUnsupportedMediaType,
			message: "the Content-Type must be " + strings.Join(to.media, " or "),
		}
	}
	return nil
}

func (to *route) checkLength(r *http.Request, _ string) *refusal {
	if r.ContentLength <= to.bodyBytes {
		return nil
	}
	return to.tooLong(to.bodyBytes, nil)
}

// length returns how long a body may be that is on its way.
func (to *route) length(r *http.Request) int64 {
	if r.ContentLength < 0 {
		return to.bodyBytes
	}
	return r.ContentLength
}

func (to *route) tooLong(limit int64, cause error) *refusal {
	return &refusal{
		code: http.StatusRequestEntityTooLarge, reason: metav1.StatusReasonRequestEntityTooLarge, cause: cause,
		message: fmt.Sprintf("the body is longer than %d bytes; %s", limit, to.smaller),
	}
}
