package audit

import (
	"net/http"
	"strings"
)

// entry adds the hint of an entry of Google Cloud Logging, which has no audit events but entries made from them, one for each request that has
// ended. They tell which object was written, how, when and by whom. They lack the audit ID, the field manager, whether it was a dry run, and of the
// outcome only a class.
func (d *shipped) entry(object []byte) error {
	d.start(object, d.opts.Limits.MaxEventBytes)
	d.readEntry(&d.event)
	if d.err != nil {
		return d.skip(SkipMalformed)
	}
	return d.add(&d.event)
}

func (r *reader) readEntry(e *event) {
	*e = event{Stage: "ResponseComplete", Code: http.StatusOK}
	for name := range r.members(required) {
		switch string(name) {
		case "protoPayload":
			r.readPayload(e)
		case "labels":
			r.texts(optional, field{"authorization.k8s.io/decision", &e.Decision})
		default:
			r.pick(name, optional, field{"timestamp", &e.Timestamp})
		}
	}
}

func (r *reader) readPayload(e *event) {
	var method, resource string
	for name := range r.members(required) {
		switch string(name) {
		case "status":
			r.code(&e.Code)
			e.Code = httpStatus(e.Code)
		case "authenticationInfo":
			r.texts(optional, field{"principalEmail", &e.User})
		case "requestMetadata":
			r.texts(optional, field{"callerIp", &e.SourceIP}, field{"callerSuppliedUserAgent", &e.UserAgent})
		default:
			r.pick(name, required, field{"methodName", &method}, field{"resourceName", &resource})
		}
	}
	e.Verb, e.ObjectRef = method[strings.LastIndexByte(method, '.')+1:], entryObject(resource)
}

// entryObject reads GROUP/VERSION/namespaces/NAMESPACE/RESOURCE with perhaps /NAME and /SUBRESOURCE behind it. It is empty for another form.
func entryObject(name string) objectRef {
	parts := strings.Split(name, "/")
	if len(parts) < 5 || len(parts) > 7 || parts[2] != "namespaces" {
		return objectRef{}
	}
	parts = append(parts, "", "")
	ref := objectRef{APIGroup: parts[0], APIVersion: parts[1], Namespace: parts[3], Resource: parts[4], Name: parts[5], Subresource: parts[6]}
	if ref.APIGroup == "core" {
		ref.APIGroup = ""
	}
	return ref
}

// httpStatus returns a status of HTTP that says of an outcome what c, a code of google.rpc.Status, says of it: done, refused, or, as zero, unknown.
// Some entries have a status of HTTP already.
func httpStatus(c int) int {
	switch c {
	case 0:
		return http.StatusOK
	case 1, 2, 4, 13, 14, 15: // cancelled, unknown, deadline exceeded, internal, unavailable, data loss
		return 0
	}
	if c >= http.StatusOK {
		return c
	}
	return http.StatusBadRequest
}
