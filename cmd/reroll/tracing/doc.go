// Package tracing tells an OpenTelemetry collector how far each change has got: one trace for each request to the API server that led to
// something, with a span for each stage.
//
//	receive   a request's audit event came in, until it is handed on
//	commit      its hint is written to the stream and on the disk
//	verify      from its arrival to the change being on record
//	decide        from the change to the decision: the quiet window, brakes, waits
//	patch           from the decision to the patched workload
//	settle          from there to the reload being on record
//	rollout           from the patch to what became of the rollout
//
// Nothing is measured for it: the records have the times of all stages, and the spans are made from them when they are stored. Their IDs
// follow from the records too (see reloader.Hint.TraceParent), so that the spans of several processes fit together, the message headers in
// NATS name spans that exist, and a stage that is told twice is one span. What is told never holds up anything: a collector that is
// away or slow misses spans.
package tracing
