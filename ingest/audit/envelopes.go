package audit

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// envelope is how events are found in one member of an object.
type envelope struct {
	kinds kinds
	read  func(*walker) error
}

// kinds are the kinds of JSON values that are looked into; all others are passed over.
type kinds []jsontext.Kind

func (k kinds) has(kind jsontext.Kind) bool { return slices.Contains(k, kind) }

var (
	ofList   = kinds{jsontext.KindBeginArray}
	ofText   = kinds{jsontext.KindString}
	ofRecord = kinds{jsontext.KindString, jsontext.KindBeginObject}
)

// envelopeOf returns how events are found in the member called name, if shippers put any there. No audit event has such a member, and
// nothing within a request or response body is looked at.
func envelopeOf(name string) (envelope, bool) {
	switch name {
	case "items": // EventList of audit.k8s.io
		return envelope{ofList, (*walker).value}, true
	case "records": // Amazon Data Firehose, Azure diagnostic settings
		return envelope{ofList, (*walker).value}, true
	case "logEvents": // Amazon CloudWatch Logs subscriptions
		return envelope{ofList, (*walker).value}, true
	case "log", "message", "short_message": // Fluent Bit, Vector, and everything that reads lines, the last in GELF; Google Pub/Sub pushes
		return envelope{ofRecord, (*walker).value}, true
	case "properties": // Azure diagnostic settings
		return envelope{ofRecord, (*walker).value}, true
	case "data": // Amazon Data Firehose, Google Pub/Sub
		return envelope{ofText, (*walker).data}, true
	}
	return envelope{}, false
}
