package audit

// event is the part of an audit event that hints are made of. An event means nothing without stage, verb and object: one of them with a wrong
// type spoils it. What is odd in the others is as if it were not there.
type event struct {
	Stage, Verb                    string
	ObjectRef                      objectRef
	AuditID, RequestURI, Timestamp string
	User, ImpersonatedUser         string
	// SourceIP is the last text of an array, empty if its last element is something else: clients can choose the others.
	SourceIP, UserAgent string
	Code                int
	// Decision is what the API server's authorizers said of the request.
	Decision string
}

// objectRef names the object of a request.
type objectRef struct {
	Resource, Namespace, Name, APIGroup, APIVersion, Subresource string
}

func (r *reader) readEvent(e *event) {
	*e = event{}
	for name := range r.members(required) {
		switch string(name) {
		case "objectRef":
			o := &e.ObjectRef
			r.texts(required, field{"resource", &o.Resource}, field{"namespace", &o.Namespace}, field{"name", &o.Name},
				field{"apiGroup", &o.APIGroup}, field{"apiVersion", &o.APIVersion}, field{"subresource", &o.Subresource})
		case "user":
			r.texts(optional, field{"username", &e.User})
		case "impersonatedUser":
			r.texts(optional, field{"username", &e.ImpersonatedUser})
		case "annotations":
			r.texts(optional, field{"authorization.k8s.io/decision", &e.Decision})
		case "sourceIPs":
			r.lastText(&e.SourceIP)
		case "responseStatus":
			r.code(&e.Code)
		case "stage", "verb":
			r.pick(name, required, field{"stage", &e.Stage}, field{"verb", &e.Verb})
		default:
			r.pick(name, optional, field{"auditID", &e.AuditID}, field{"requestURI", &e.RequestURI}, field{"userAgent", &e.UserAgent},
				field{"stageTimestamp", &e.Timestamp})
		}
	}
}
