package webhook

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// route is a path of the server, and how its bodies are taken.
type route struct {
	path   string
	source reloader.Source
	decode func([]byte, audit.Options) (audit.Result, error)
	media  []string
	// encodings are those that are unpacked, one body at a time.
	encodings []string
	// atOnce is how many bodies are taken at a time. Shippers that catch up keep no API server waiting.
	atOnce int64
	// smaller says how to make bodies shorter.
	smaller string

	// What follows belongs to one server: turn is that of the body that is unpacked.
	limits Limits
	limit  limiter
	turn   *semaphore.Weighted
}

// routes are the paths of the server, one for each source that posts to it.
var routes = []route{{
	path: "/v1/audit/{cluster}", source: reloader.SourceAudit, decode: audit.Decode, atOnce: 64,
	media:   []string{"application/json"},
	smaller: "reduce --audit-webhook-batch-max-size, use the audit level Metadata, or set --audit-webhook-truncate-enabled",
}, {
	path: "/v1/shipped/{cluster}", source: reloader.SourceShipped, decode: audit.DecodeShipped, atOnce: 16,
	media:     []string{"application/json", "application/x-ndjson", "application/ndjson", "application/jsonl"},
	encodings: []string{"gzip", "deflate"},
	smaller:   "make the shipper send smaller requests",
}}

// checkHead checks how the body is written and how long it is.
func (to *route) checkHead(r *http.Request) *refusal {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	encoding := r.Header.Get("Content-Encoding")
	switch {
	case encoding != "" && len(to.encodings) == 0:
		return refuse(http.StatusUnsupportedMediaType, "the body must not be encoded; remove Content-Encoding")
	case encoding != "" && !slices.Contains(to.encodings, encoding):
		return refuse(http.StatusUnsupportedMediaType, "the Content-Encoding must be one of "+strings.Join(to.encodings, ", ")+", or missing")
	case err != nil || !slices.Contains(to.media, media):
		return refuse(http.StatusUnsupportedMediaType, "the Content-Type must be "+strings.Join(to.media, " or "))
	case r.ContentLength > to.limits.BodyBytes:
		return to.tooLong(to.limits.BodyBytes)
	}
	return nil
}

func (to *route) tooLong(limit int64) *refusal {
	return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes; %s", limit, to.smaller))
}

// read reads a body as it was sent.
func (to *route) read(r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(nil, r.Body, to.limits.BodyBytes))
	return b.Bytes(), err
}

// unpack unpacks and decodes a body. Those that may be encoded, which can take far more memory than their length, take turns.
func (to *route) unpack(ctx context.Context, body []byte, encoding string, o audit.Options) (audit.Result, error) {
	if len(to.encodings) > 0 {
		if to.turn.Acquire(ctx, 1) != nil {
			return audit.Result{}, errBusy
		}
		defer to.turn.Release(1)
	}
	body, err := inflate(body, encoding, to.limits.InflatedBytes)
	if err != nil {
		return audit.Result{}, err
	}
	return to.decode(body, o)
}

// inflate returns what body is when it is not encoded. It fails with an http.MaxBytesError beyond limit: no bomb is unpacked further.
func inflate(body []byte, encoding string, limit int64) ([]byte, error) {
	var plain io.ReadCloser
	var err error
	switch encoding {
	case "gzip":
		plain, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		plain, err = zlib.NewReader(bytes.NewReader(body))
	default:
		return body, nil
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(http.MaxBytesReader(nil, plain, limit))
}

// unreadable refuses a body that could not be read or decoded.
func (to *route) unreadable(err error) *refusal {
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return to.tooLong(tooLong.Limit)
	case errors.Is(err, errBusy):
		return busy(err)
	case errors.Is(err, audit.ErrTooLarge):
		return refuse(http.StatusRequestEntityTooLarge, err.Error()+"; "+to.smaller)
	case errors.Is(err, audit.ErrMalformed):
		return refuse(http.StatusBadRequest, err.Error())
	}
	no := refuse(http.StatusBadRequest, "the body could not be read to its end")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		no = refuse(http.StatusRequestTimeout, fmt.Sprintf("the body did not arrive within %s", readTimeout))
	}
	no.cause = err
	return no
}
