// Package tracing tests that one edit on a real API server is one trace at a collector.
package tracing
