package audit

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// Google Cloud Logging has no audit events but entries of its own, made from them. They tell which object was written, how, when and
// by whom. They do not tell the audit ID, the field manager, whether it was a dry run, and of the outcome only a class.

// entryFields are the members of an entry that are read.
var entryFields = map[string]field{
	"protoPayload": protoPayload,
	"timestamp":    entryTime,
	"labels":       extras(annotationFields),
}

var payloadFields = map[string]field{
	"methodName":         text(func(e *event) *[]byte { return &e.method }),
	"resourceName":       text(func(e *event) *[]byte { return &e.resourceName }),
	"status":             extras(statusFields),
	"authenticationInfo": extras(map[string]field{"principalEmail": extra(func(e *event) *[]byte { return &e.user })}),
	"requestMetadata": extras(map[string]field{
		"callerIp":                extra(func(e *event) *[]byte { return &e.sourceIP }),
		"callerSuppliedUserAgent": extra(func(e *event) *[]byte { return &e.userAgent }),
	}),
}

func protoPayload(s *scanner, e *event) error {
	if s.dec.PeekKind() != jsontext.KindBeginObject {
		return s.skip()
	}
	e.isLogEntry = true
	return e.readFields(s, payloadFields)
}

// entryTime reads the time of an entry. Many shippers have a member of that name, of whatever type, and it spoils no event.
func entryTime(s *scanner, e *event) (err error) {
	if s.dec.PeekKind() != jsontext.KindString {
		return s.skip()
	}
	e.entered, err = s.appendText(e.entered[:0])
	return err
}

// translate makes an audit event of an entry. There is one entry for each request, written when it has ended.
func (e *event) translate() {
	e.stage = append(e.stage[:0], "ResponseComplete"...)
	e.stageTimestamp = append(e.stageTimestamp[:0], e.entered...)
	if at := bytes.LastIndexByte(e.method, '.'); at >= 0 {
		e.verb = append(e.verb[:0], e.method[at+1:]...)
	}
	e.code = httpStatus(e.code)
	e.object, e.hasObject = entryObject(e.object, e.resourceName)
}

// entryObject reads GROUP/VERSION/namespaces/NAMESPACE/RESOURCE with perhaps /NAME and /SUBRESOURCE behind it into ref, and reports
// whether it is that.
func entryObject(ref objectRef, name []byte) (objectRef, bool) {
	parts := bytes.Split(name, []byte("/"))
	if len(parts) < 5 || len(parts) > 7 || string(parts[2]) != "namespaces" {
		return ref, false
	}
	if string(parts[0]) == "core" {
		parts[0] = nil
	}
	into := []*[]byte{&ref.apiGroup, &ref.apiVersion, nil, &ref.namespace, &ref.resource, &ref.name, &ref.subresource}
	for i, part := range parts {
		if into[i] != nil {
			*into[i] = append((*into[i])[:0], part...)
		}
	}
	return ref, true
}

// The codes of google.rpc.Status behind which something may have been stored.
const (
	rpcOK               = 0
	rpcCancelled        = 1
	rpcUnknown          = 2
	rpcDeadlineExceeded = 4
	rpcInternal         = 13
	rpcUnavailable      = 14
	rpcDataLoss         = 15
)

// httpStatus returns a status of HTTP that says of an outcome what code, one of google.rpc.Status, says of it: done, refused, or, as
// zero, unknown. Some entries have a status of HTTP already.
func httpStatus(code int) int {
	switch code {
	case rpcOK:
		return http.StatusOK
	case rpcCancelled, rpcUnknown, rpcDeadlineExceeded, rpcInternal, rpcUnavailable, rpcDataLoss:
		return 0
	}
	if code >= http.StatusOK {
		return code
	}
	return http.StatusBadRequest
}
