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

// TraceParent returns the traceparent of the message that carries c: in the trace of its newest candidate's request. If no request is
// known, as after a sweep, the trace begins with c.
func (c Change) TraceParent(messageID string) string {
	return traceParent(traceID(c.Cluster, newestAuditID(c.Candidates), c.ID), messageID)
}

// TraceParent returns the traceparent of the message that carries r: in the trace of the newest change among its causes. If it has no
// cause, the trace begins with r.
func (r Reload) TraceParent(messageID string) string {
	if len(r.Causes) == 0 {
		return traceParent(traceID(r.Cluster, "", r.ID), messageID)
	}
	newest := r.Causes[0]
	for _, c := range r.Causes[1:] {
		if c.VerifiedAt.After(newest.VerifiedAt) {
			newest = c
		}
	}
	return traceParent(traceID(r.Cluster, newestAuditID(newest.Candidates), newest.ChangeID), messageID)
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
