// Package contract holds requests to the REST API, and its answers, against the OpenAPI document that the API serves.
//
// It promises:
//   - An answer passes only if the document knows its status and content type for that route, and every field that is in its body.
//   - A request that was carried out passes only if the document describes it: nothing is taken that the document does not tell of.
//   - A request that was refused for what is at some place in it passes only if the document forbids that.
//   - A Contract may be used from any number of goroutines.
package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	described "github.com/pb33f/libopenapi-validator/errors"
)

// Prefix is what the path of everything begins with that the document describes.
const Prefix = "/api/v1/"

// Contract is a served document, ready to be held against. Make one with New.
type Contract struct {
	answers  validator.Validator
	requests validator.Validator
}

// New reads an OpenAPI document in JSON.
func New(document []byte) (*Contract, error) {
	read, err := libopenapi.NewDocument(document)
	if err != nil {
		return nil, fmt.Errorf("read the served document: %w", err)
	}
	strict := []config.Option{config.WithStrictMode(), config.WithFormatAssertions()}
	answers, faults := validator.NewValidator(read, append(strict,
		config.WithStrictIgnoredHeadersExtra("X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Referrer-Policy", "Retry-After",
			"Content-Security-Policy", "Cache-Control", "X-Accel-Buffering"),
		config.WithStrictIgnorePaths("$.body.errors[*].value", "$.body.errors[*].value.**", // whatever the client has sent
			"$.body.items[*].held.*", "$.body.total.outcomes.*", "$.body.buckets[*].outcomes.*"), // maps, whose keys are no properties
	)...)
	// A client may send what headers it likes.
	requests, more := validator.NewValidator(read, append(strict, config.WithStrictIgnorePaths("$.headers.*"))...)
	if faults = append(faults, more...); len(faults) > 0 {
		return nil, fmt.Errorf("understand the served document: %w", errors.Join(faults...))
	}
	return &Contract{answers: answers, requests: requests}, nil
}

// Document returns nil if the document itself is a valid one of OpenAPI 3.1.
func (c *Contract) Document() error { return joined(c.answers.ValidateDocument()) }

// Answer returns nil if the document describes the answer to r. It reads the body of the answer and puts it back.
func (c *Contract) Answer(r *http.Request, answer *http.Response) error {
	if err := joined(c.answers.ValidateHttpResponse(r, answer)); err != nil {
		return fmt.Errorf("%s %s was answered %d against the contract: %w", r.Method, r.URL, answer.StatusCode, err)
	}
	return nil
}

// Request returns nil if what r and its body were answered is what the document says of such a request. It takes milliseconds.
func (c *Contract) Request(r *http.Request, body []byte, code int, answered []byte) error {
	switch {
	case code < http.StatusMultipleChoices:
		if err := c.describes(withoutEmpty(r), body); err != nil {
			return fmt.Errorf("%s %s %.2000q was carried out (%d), and the contract knows no such request: %w", r.Method, r.URL, body, code, err)
		}
	case code == http.StatusUnprocessableEntity && pointsAtFault(answered) && c.describes(r, body) == nil:
		return fmt.Errorf("%s %s %.2000q was refused, and the contract allows it: %.2000s", r.Method, r.URL, body, answered)
	}
	return nil
}

// describes returns nil if the document describes r with a body.
func (c *Contract) describes(r *http.Request, body []byte) error {
	asked := r.Clone(r.Context())
	asked.Body, asked.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return joined(c.requests.ValidateHttpRequestSync(asked))
}

// withoutEmpty returns r less the parameters that are empty: they say nothing, which a schema cannot say.
func withoutEmpty(r *http.Request) *http.Request {
	asked := r.Clone(r.Context())
	query := asked.URL.Query()
	for name, values := range query {
		if len(values) == 1 && values[0] == "" {
			query.Del(name)
		}
	}
	asked.URL.RawQuery = query.Encode()
	return asked
}

// pointsAtFault tells whether a problem says where in the request something is wrong: what is wrong there is wrong by the document. What
// only does not fit together, or makes no sense now, has no place.
func pointsAtFault(problem []byte) bool { return bytes.Contains(problem, []byte(`"location":`)) }

// Covers tells whether the document says something about an exchange: about the answers of routes it does, and about those to unknown paths and
// methods it does not.
func Covers(r *http.Request, code int, body []byte) bool {
	switch {
	case !strings.HasPrefix(r.URL.Path, Prefix) || r.Method != http.MethodGet && r.Method != http.MethodPost:
		return false
	case code == http.StatusNotFound:
		return !bytes.Contains(body, []byte("Unknown path"))
	}
	return code != http.StatusMethodNotAllowed
}

func joined(ok bool, found []*described.ValidationError) error {
	if ok {
		return nil
	}
	all := []error{errors.New("it is not as described")}
	for _, f := range found {
		all = append(all, fmt.Errorf("%s: %s %v", f.Message, f.Reason, f.SchemaValidationErrors))
	}
	return errors.Join(all...)
}
