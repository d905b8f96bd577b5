package reloader

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// The methods below return the traceparent header (W3C Trace Context, version 00, sampled) of the message that carries a record.
// What led to what is in one trace: a hint, the changes that it led to and the reloads that those caused. The trace ID is the audit
// ID if that is a UUID, in its 32 digits, so that whoever has the one has the other; and otherwise a hash of the cluster and the
// audit ID. Clients choose audit IDs, so a trace groups and proves nothing. messageID is the message's own identity, which gives the
// parent ID.

// TraceParent returns the traceparent of the message that carries h. Without an audit ID the trace is of that message alone.
func (h Hint) TraceParent(messageID string) string {
	return traceParent(traceID(h.Cluster, h.AuditID, messageID), messageID)
}

// TraceID returns the 32 digits of the trace that h belongs to. It must be of a request: AuditID is not empty.
func (h Hint) TraceID() string { return traceID(h.Cluster, h.AuditID, "") }

// TraceParent returns the traceparent of the message that carries c: in the trace of its newest candidate's request. If no request is
// known, as after a sweep, the trace begins with c.
func (c Change) TraceParent(messageID string) string {
	return traceParent(traceID(c.Cluster, newestAuditID(c.Candidates), c.ID), messageID)
}

// TraceParent returns the traceparent of the message that carries r: in the trace of the newest change among its causes. If it has no
// cause, the trace begins with r.
func (r Reload) TraceParent(messageID string) string {
	return traceParent(r.TraceID(), messageID)
}

// TraceID returns the 32 digits of the trace that r belongs to.
func (r Reload) TraceID() string {
	if newest, ok := r.NewestCause(); ok {
		return newest.TraceID(r.Cluster)
	}
	return traceID(r.Cluster, "", r.ID)
}

// TraceID returns the 32 digits of the trace of c's change, in a cluster.
func (c Cause) TraceID(cluster string) string {
	return traceID(cluster, newestAuditID(c.Candidates), c.ChangeID)
}

// MessageKey is what the message that carries h is identified by in its trace: the same for the same request and the same kind and namespace,
// so that whoever knows these knows the parent ID. The name of the config is left out: a hint may have none where the change that it led
// to has one, as after the deletion of a collection, and one request is about one object or collection. It is empty if h is of no request; then the message has to have an identity of its own.
func (h Hint) MessageKey() string { return hintKey(h.AuditID, h.Config) }

// HintKey is the MessageKey of the hint of c's newest candidate; empty if there is none.
func (c Change) HintKey() string { return hintKey(newestAuditID(c.Candidates), c.Config) }

func hintKey(auditID string, c Config) string {
	if auditID == "" {
		return ""
	}
	return "hint/" + auditID + "/" + string(c.Kind) + "/" + c.Namespace
}

// MessageKey is what the message that carries c is identified by in its trace.
func (c Change) MessageKey() string { return changeKey(c.ID) }

// MessageKey is what the message that carries a cause's change is identified by in its trace.
func (c Cause) MessageKey() string { return changeKey(c.ChangeID) }

func changeKey(id string) string { return "change/" + id }

// MessageKey is what the message that carries r is identified by in its trace: another one once it is known what became of the rollout.
func (r Reload) MessageKey() string {
	if r.Rollout != nil {
		return "rollout/" + r.ID
	}
	return "reload/" + r.ID
}

// NewestCause returns the cause of r with the newest change; of several with the same time the first. ok is false if r has none.
func (r Reload) NewestCause() (newest Cause, ok bool) {
	for i, c := range r.Causes {
		if i == 0 || c.VerifiedAt.After(newest.VerifiedAt) {
			newest = c
		}
	}
	return newest, len(r.Causes) > 0
}

// newestAuditID returns the audit ID of the newest candidate that has one; of several with the same time that of the first.
func newestAuditID(candidates []Candidate) string {
	var newest Candidate
	for _, c := range candidates {
		if c.AuditID != "" && (newest.AuditID == "" || c.Time.After(newest.Time)) {
			newest = c
		}
	}
	return newest.AuditID
}

// traceID returns the 32 digits that stand for the audit ID, or for the record's own ID if there is none.
func traceID(cluster, auditID, id string) string {
	if auditID == "" {
		return hashed(16, cluster, "", id)
	}
	if digits, ok := uuidDigits(auditID); ok {
		return digits
	}
	return hashed(16, cluster, auditID)
}

func traceParent(traceID, messageID string) string {
	return "00-" + traceID + "-" + hashed(8, messageID) + "-01"
}

// uuidDigits returns the digits of s in lower case if s is a UUID other than that of all zeros, which no trace may have.
func uuidDigits(s string) (string, bool) {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(s) != len(form) {
		return "", false
	}
	for i := range len(form) {
		if (form[i] == '-') != (s[i] == '-') {
			return "", false
		}
	}
	digits := strings.ToLower(strings.ReplaceAll(s, "-", ""))
	raw, err := hex.DecodeString(digits)
	return digits, err == nil && !isZero(raw)
}

// hashed returns the first size bytes of a SHA-256 over parts, as lower-case hex and never all zero. Parts are length-prefixed, so that
// no two lists collide.
func hashed(size int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	sum := h.Sum(nil)[:size]
	if isZero(sum) {
		sum[size-1] = 1
	}
	return hex.EncodeToString(sum)
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
