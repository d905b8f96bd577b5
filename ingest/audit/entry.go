package audit

import (
	"net/http"
	"strings"
)

// entry is an entry of Google Cloud Logging, which has no audit events but entries made from them, one for each request that has ended. They tell
// which object was written, how, when and by whom. They lack the audit ID, the field manager, whether it was a dry run, and of the outcome
// only a class.
type entry struct {
	Payload   payload                `json:"protoPayload"`
	Timestamp lenient[string]        `json:"timestamp"`
	Labels    lenient[authorization] `json:"labels"`
}

type payload struct {
	MethodName     string             `json:"methodName"`
	ResourceName   string             `json:"resourceName"`
	Status         lenient[status]    `json:"status"`
	Authentication lenient[principal] `json:"authenticationInfo"`
	Request        lenient[caller]    `json:"requestMetadata"`
}

type principal struct {
	Email lenient[string] `json:"principalEmail"`
}

type caller struct {
	IP        lenient[string] `json:"callerIp"`
	UserAgent lenient[string] `json:"callerSuppliedUserAgent"`
}

// entry adds the hint of one entry.
func (d *shipped) entry(object []byte) error {
	var from entry
	if len(object) > d.opts.Limits.MaxEventBytes || read(object, &from) != nil {
		return d.skip(SkipMalformed)
	}
	e := event{
		Stage:          "ResponseComplete",
		Verb:           from.Payload.MethodName[strings.LastIndexByte(from.Payload.MethodName, '.')+1:],
		ObjectRef:      entryObject(from.Payload.ResourceName),
		SourceIPs:      lastText(from.Payload.Request.value.IP.value),
		UserAgent:      from.Payload.Request.value.UserAgent,
		StageTimestamp: from.Timestamp,
		Annotations:    from.Labels,
	}
	e.User.value.Username = from.Payload.Authentication.value.Email
	e.ResponseStatus.value.Code = httpStatus(from.Payload.Status.value.Code)
	return d.add(&e)
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
func httpStatus(c code) code {
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
