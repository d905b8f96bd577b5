// Package collector takes spans by OTLP over HTTP, as a real collector does, and keeps them.
package collector

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// maxRequest bounds what one request may bring, in bytes.
const maxRequest = 16 << 20

// Collector is a running collector. Its methods may be called from any goroutine.
type Collector struct {
	// URL is what OTEL_EXPORTER_OTLP_ENDPOINT has to be.
	URL    string
	server *httptest.Server

	mu    sync.Mutex
	spans []*trace.Span
	about map[string]string
}

// Start starts a collector on a loopback address. Close ends it.
func Start() *Collector {
	c := &Collector{about: map[string]string{}}
	c.server = httptest.NewServer(http.HandlerFunc(c.serve))
	c.URL = c.server.URL
	return c
}

// Close ends the collector.
func (c *Collector) Close() { c.server.Close() }

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	var request service.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			c.about[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// About returns what senders say of themselves.
func (c *Collector) About(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.about[key]
}

// Named returns the spans of that name, in the order of their arrival.
func (c *Collector) Named(name string) []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s *trace.Span) bool { return s.Name != name })
}

// Identity returns how a traceparent names s.
func Identity(s *trace.Span) string {
	return "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
}

// Attributes returns the attributes of s that are texts.
func Attributes(s *trace.Span) map[string]string {
	texts := map[string]string{}
	for _, a := range s.Attributes {
		texts[a.Key] = a.Value.GetStringValue()
	}
	return texts
}
