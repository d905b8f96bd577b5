package audit

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// event is the part of an audit event that hints are made of. Its buffers are reused from one event to the next.
type event struct {
	// malformed means that something had the wrong type.
	malformed bool
	hasObject bool
	// code is zero if the event has none.
	code int

	auditID, stage, requestURI, verb, userAgent, stageTimestamp []byte
	user, impersonatedUser, sourceIP                            []byte
	// decision is what the API server's authorizers said of the request.
	decision []byte
	object   objectRef

	// isLogEntry means that it was told as an entry of Google Cloud Logging, by these and some of the fields above.
	isLogEntry                    bool
	method, resourceName, entered []byte
}

// objectRef names the object of a request.
type objectRef struct {
	resource, namespace, name, apiGroup, apiVersion, subresource []byte
}

// reset empties e and keeps its buffers.
func (e *event) reset() {
	e.malformed, e.hasObject, e.code, e.isLogEntry = false, false, 0, false
	for _, b := range []*[]byte{
		&e.auditID, &e.stage, &e.requestURI, &e.verb, &e.userAgent, &e.stageTimestamp, &e.user, &e.impersonatedUser, &e.sourceIP, &e.decision,
		&e.object.resource, &e.object.namespace, &e.object.name, &e.object.apiGroup, &e.object.apiVersion, &e.object.subresource,
		&e.method, &e.resourceName, &e.entered,
	} {
		*b = (*b)[:0]
	}
}

// field reads the value of one member into an event.
type field func(s *scanner, e *event) error

// The members that are read. All others are passed over, whatever they are. Without stage, verb and object an event means nothing, and one of
// them with a wrong type spoils it. All others are extras: what is odd in them is as if it were not there.
var (
	eventFields = map[string]field{
		"auditID":          extra(func(e *event) *[]byte { return &e.auditID }),
		"stage":            text(func(e *event) *[]byte { return &e.stage }),
		"requestURI":       extra(func(e *event) *[]byte { return &e.requestURI }),
		"verb":             text(func(e *event) *[]byte { return &e.verb }),
		"userAgent":        extra(func(e *event) *[]byte { return &e.userAgent }),
		"stageTimestamp":   extra(func(e *event) *[]byte { return &e.stageTimestamp }),
		"user":             extras(userFields),
		"impersonatedUser": extras(impersonatedUserFields),
		"sourceIPs":        lastSourceIP,
		"objectRef":        objectReference,
		"responseStatus":   extras(statusFields),
		"annotations":      extras(annotationFields),
	}
	userFields             = map[string]field{"username": extra(func(e *event) *[]byte { return &e.user })}
	impersonatedUserFields = map[string]field{"username": extra(func(e *event) *[]byte { return &e.impersonatedUser })}
	statusFields           = map[string]field{"code": statusCode}
	annotationFields       = map[string]field{"authorization.k8s.io/decision": extra(func(e *event) *[]byte { return &e.decision })}
	objectFields           = map[string]field{
		"resource":    text(func(e *event) *[]byte { return &e.object.resource }),
		"namespace":   text(func(e *event) *[]byte { return &e.object.namespace }),
		"name":        text(func(e *event) *[]byte { return &e.object.name }),
		"apiGroup":    text(func(e *event) *[]byte { return &e.object.apiGroup }),
		"apiVersion":  text(func(e *event) *[]byte { return &e.object.apiVersion }),
		"subresource": text(func(e *event) *[]byte { return &e.object.subresource }),
	}
)

// read reads the item that comes next. It fails only if that is no JSON.
func (e *event) read(s *scanner) error {
	e.reset()
	if s.dec.PeekKind() != jsontext.KindBeginObject {
		e.malformed = true
		return s.skip()
	}
	return e.readFields(s, eventFields)
}

// readFields reads the object that comes next.
func (e *event) readFields(s *scanner, fields map[string]field) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for {
		name, ok, err := s.member()
		if !ok {
			return err
		}
		if read, known := fields[string(name)]; known {
			err = read(s, e)
		} else {
			err = s.skip()
		}
		if err != nil {
			return err
		}
	}
}

// comes reports whether a value of kind comes next. Anything else is passed over.
func comes(s *scanner, kind jsontext.Kind) (bool, error) {
	if s.dec.PeekKind() == kind {
		return true, nil
	}
	return false, s.skip()
}

// expect is comes for what an event cannot do without: a value of another kind spoils it, unless it is null.
func (e *event) expect(s *scanner, kind jsontext.Kind) (bool, error) {
	next := s.dec.PeekKind()
	e.malformed = e.malformed || next != kind && next != jsontext.KindNull
	return comes(s, kind)
}

func text(of func(*event) *[]byte) field {
	return func(s *scanner, e *event) error {
		dst := of(e)
		*dst = (*dst)[:0]
		ok, err := e.expect(s, jsontext.KindString)
		if ok {
			*dst, err = s.appendText(*dst)
		}
		return err
	}
}

func extra(of func(*event) *[]byte) field {
	return func(s *scanner, e *event) error {
		dst := of(e)
		*dst = (*dst)[:0]
		ok, err := comes(s, jsontext.KindString)
		if ok {
			*dst, err = s.appendText(*dst)
		}
		return err
	}
}

func extras(fields map[string]field) field {
	return func(s *scanner, e *event) error {
		ok, err := comes(s, jsontext.KindBeginObject)
		if ok {
			err = e.readFields(s, fields)
		}
		return err
	}
}

func objectReference(s *scanner, e *event) error {
	ok, err := e.expect(s, jsontext.KindBeginObject)
	if ok {
		e.hasObject = true
		err = e.readFields(s, objectFields)
	}
	return err
}

func lastSourceIP(s *scanner, e *event) error {
	ok, err := comes(s, jsontext.KindBeginArray)
	if !ok {
		return err
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != jsontext.KindEndArray {
		// Where the last is odd there is none: clients can choose the others.
		e.sourceIP = e.sourceIP[:0]
		ok, err := comes(s, jsontext.KindString)
		if ok {
			e.sourceIP, err = s.appendText(e.sourceIP)
		}
		if err != nil {
			return err
		}
	}
	_, err = s.dec.ReadToken()
	return err
}

// statusCode reads a code, also one that a shipper made a fraction. What cannot be a code is none, so that the outcome counts as unknown.
func statusCode(s *scanner, e *event) error {
	e.code = 0
	ok, err := comes(s, jsontext.KindNumber)
	if !ok {
		return err
	}
	raw, err := s.dec.ReadValue()
	if err != nil {
		return err
	}
	if code, err := strconv.ParseFloat(string(raw), 64); err == nil && code >= 0 && code <= highestCode && code == math.Trunc(code) {
		e.code = int(code)
	}
	return nil
}

// highestCode is the greatest number that can be a code.
const highestCode = 999
