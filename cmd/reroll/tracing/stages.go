package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/reroll-dev/reroll/reloader"
)

// Hints tells that hints were stored from start to end; err is why they were not. What no request led to is not told of.
func (t *Tracer) Hints(hints []reloader.Hint, start, end time.Time, err error) {
	for _, h := range hints {
		if h.AuditID == "" {
			continue
		}
		about := attributes(h.Cluster, h.Config, attribute.String("reroll.verb", string(h.Verb)), attribute.String("reroll.source", string(h.Source)))
		received := h.TraceParent(receiveKey(h.AuditID))
		t.tell(span{name: "receive", own: received, start: h.Received, end: start, kind: trace.SpanKindServer, options: about}, nil)
		t.tell(span{name: "commit", own: h.TraceParent(h.MessageKey()), parent: received, start: start, end: end, kind: trace.SpanKindProducer, options: about}, err)
	}
}

func receiveKey(auditID string) string { return "receive/" + auditID }

// Change tells that a change was verified and is on record since stored.
func (t *Tracer) Change(c reloader.Change, stored time.Time) {
	s := span{
		name: "verify", own: c.TraceParent(c.MessageKey()), start: c.ReceivedAt, end: stored, kind: trace.SpanKindConsumer,
		options: attributes(c.Cluster, c.Config,
			attribute.String("reroll.change", c.ID), attribute.String("reroll.change.type", string(c.Type)), attribute.String("reroll.source", string(c.Source))),
	}
	if key := c.HintKey(); key != "" {
		s.parent = c.TraceParent(key)
	}
	if s.start.IsZero() {
		s.start = c.VerifiedAt
	}
	t.tell(s, nil)
}

// Reload tells that a reload was decided, and patched if it was, and is on record since stored; or what became of its rollout.
func (t *Tracer) Reload(r reloader.Reload, stored time.Time) {
	about := append(attributes(r.Cluster, reloader.Config{},
		attribute.String("reroll.reload", r.ID), attribute.String("reroll.outcome", string(r.Outcome)), attribute.String("reroll.strategy", r.Strategy),
		attribute.String("reroll.workload", r.Workload.String()), semconv.K8SNamespaceName(r.Workload.Namespace),
	), links(r))
	if r.Rollout != nil {
		if !r.Rollout.EndedAt.IsZero() {
			about = append(about, trace.WithAttributes(attribute.String("reroll.rollout", string(r.Rollout.Result))))
			t.tell(span{name: "rollout", own: r.TraceParent(r.MessageKey()), parent: r.TraceParent(reloadKey(r)), start: r.Rollout.StartedAt, end: r.Rollout.EndedAt, kind: trace.SpanKindInternal, options: about}, nil)
		}
		return
	}
	decided := span{name: "decide", own: r.TraceParent("decide/" + r.ID), start: r.DecidedAt, end: r.DecidedAt, kind: trace.SpanKindInternal, options: about}
	if cause, ok := r.NewestCause(); ok {
		decided.start, decided.parent = cause.VerifiedAt, r.TraceParent(cause.MessageKey())
	}
	t.tell(decided, nil)
	last := r.DecidedAt
	if !r.PatchedAt.IsZero() {
		last = r.PatchedAt
		t.tell(span{name: "patch", own: r.TraceParent("patch/" + r.ID), parent: decided.own, start: r.DecidedAt, end: r.PatchedAt, kind: trace.SpanKindClient, options: about}, nil)
	}
	t.tell(span{name: "settle", own: r.TraceParent(r.MessageKey()), parent: decided.own, start: last, end: stored, kind: trace.SpanKindProducer, options: about}, nil)
}

// reloadKey is the MessageKey of r before anything was known of its rollout.
func reloadKey(r reloader.Reload) string {
	r.Rollout = nil
	return r.MessageKey()
}

// links names the changes behind r besides the newest: they are in traces of their own.
func links(r reloader.Reload) trace.SpanStartOption {
	newest, _ := r.NewestCause()
	var others []trace.Link
	for _, c := range r.Causes {
		alone := reloader.Reload{Cluster: r.Cluster, Causes: []reloader.Cause{c}}
		if to, ok := parse(alone.TraceParent(c.MessageKey())); ok && c.ChangeID != newest.ChangeID {
			others = append(others, trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{attribute.String("reroll.change", c.ChangeID)}})
		}
	}
	return trace.WithLinks(others...)
}

// attributes name what a span is about, and never its content or who touched it.
func attributes(cluster string, c reloader.Config, more ...attribute.KeyValue) []trace.SpanStartOption {
	more = append(more, semconv.K8SClusterName(cluster))
	if c != (reloader.Config{}) {
		more = append(more, attribute.String("reroll.config", c.String()), semconv.K8SNamespaceName(c.Namespace))
	}
	return []trace.SpanStartOption{trace.WithAttributes(more...)}
}
