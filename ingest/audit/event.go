package audit

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// event is the part of an audit event that hints are made of; the library passes over all other members. An event means nothing without stage,
// verb and object: one of them with a wrong type spoils it. What is odd in the others is as if it were not there.
type event struct {
	Stage            string                 `json:"stage"`
	Verb             string                 `json:"verb"`
	ObjectRef        objectRef              `json:"objectRef"`
	AuditID          lenient[string]        `json:"auditID"`
	RequestURI       lenient[string]        `json:"requestURI"`
	User             lenient[user]          `json:"user"`
	ImpersonatedUser lenient[user]          `json:"impersonatedUser"`
	SourceIPs        lastText               `json:"sourceIPs"`
	UserAgent        lenient[string]        `json:"userAgent"`
	ResponseStatus   lenient[status]        `json:"responseStatus"`
	StageTimestamp   lenient[string]        `json:"stageTimestamp"`
	Annotations      lenient[authorization] `json:"annotations"`
}

// objectRef names the object of a request.
type objectRef struct {
	Resource    string `json:"resource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	APIGroup    string `json:"apiGroup"`
	APIVersion  string `json:"apiVersion"`
	Subresource string `json:"subresource"`
}

type user struct {
	Username lenient[string] `json:"username"`
}

type status struct {
	Code code `json:"code"`
}

// authorization is what the API server's authorizers said of a request.
type authorization struct {
	Decision lenient[string] `json:"authorization.k8s.io/decision"`
}

// tolerant lets pass what anyone who may patch an object can bring into an event.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// read reads b into into. It fails if b is not one JSON value, too deep for the library, or spoiled.
func read(b []byte, into any) error { return json.Unmarshal(b, into, tolerant) }

// lenient is empty where a value has the wrong type.
type lenient[T string | user | status | authorization | principal | caller] struct{ value T }

// UnmarshalJSONFrom reads a text or an object, whichever T is.
func (l *lenient[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*l = lenient[T]{}
	kind := jsontext.KindBeginObject
	if _, ok := any(l.value).(string); ok {
		kind = jsontext.KindString
	}
	if d.PeekKind() != kind {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &l.value)
}

// lastText is the last text of an array, empty if its last element is something else: clients can choose the others.
type lastText string

// UnmarshalJSONFrom keeps one element at a time.
func (l *lastText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*l = ""
	if d.PeekKind() != jsontext.KindBeginArray {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	var text lenient[string]
	for d.PeekKind() != jsontext.KindEndArray {
		if err := text.UnmarshalJSONFrom(d); err != nil {
			return err
		}
	}
	*l = lastText(text.value)
	_, err := d.ReadToken()
	return err
}

// code is an HTTP status, also one that a shipper made a fraction. What cannot be one is zero, so that the outcome counts as unknown.
type code int

// highestCode is the greatest number that can be a code.
const highestCode = 999

// UnmarshalJSONFrom reads a number.
func (c *code) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*c = 0
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n >= 0 && n <= highestCode && n == math.Trunc(n) {
		*c = code(n)
	}
	return nil
}
