package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// WebhookOptions say whom to call. URL is required.
type WebhookOptions struct {
	// URL is the address of the receiver; it is a secret.
	URL string
	// LegacyBody sends the body of Stakater Reloader v1, which says nothing about what changed.
	LegacyBody bool
	// Version is Reroll's.
	Version string
}

// Webhook asks another program to reload workloads. Make it with NewWebhook. It is safe for concurrent use.
type Webhook struct {
	endpoint
	legacyBody bool
}

// legacyBody is all that Stakater Reloader v1 ever says.
const legacyBody = `{"webhook":"update successful"}`

// idempotencyHeader carries Payload.IdempotencyKey.
const idempotencyHeader = "Idempotency-Key"

// NewWebhook returns a Webhook. It fails if the address is not a URL.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	e, err := newEndpoint(o.URL, "", o.Version)
	if err != nil {
		return nil, fmt.Errorf("address of the webhook: %w", err)
	}
	return &Webhook{endpoint: e, legacyBody: o.LegacyBody}, nil
}

// Call posts p. It succeeds if the receiver answers with 2xx within 10 seconds. Another answer is a *StatusError, whose Refused says
// whether calling again is useless until somebody changes something; after any other error it makes sense. An error does not mean
// that nothing arrived.
func (w *Webhook) Call(ctx context.Context, p Payload) error {
	body := []byte(legacyBody)
	if !w.legacyBody {
		var err error
		if body, err = fit(p); err != nil {
			return fmt.Errorf("payload of %s: %w", p.Reload, err)
		}
	}
	header := http.Header{idempotencyHeader: {p.IdempotencyKey}}
	return w.post(ctx, message{contentType: "application/json", body: body}, header, successful)
}

// maxPayloadBytes bounds the body of a call: what a receiver with common settings takes.
const maxPayloadBytes = 256 << 10

// sizes are how much of its lists a payload keeps. The first of these with which the body is short enough is taken: who changed
// what is worth less than which config, and whole configs go last.
var sizes = []struct{ configs, keys, candidates int }{{1024, 1024, 64}, {1024, 16, 4}, {256, 0, 0}, {1, 0, 0}}

// fit encodes p in at most maxPayloadBytes. It fails only if names are longer than Kubernetes allows.
func fit(p Payload) ([]byte, error) {
	for _, size := range sizes {
		body, err := json.Marshal(p.cut(size.configs, size.keys, size.candidates))
		if err != nil || len(body) <= maxPayloadBytes {
			return body, err
		}
	}
	return nil, fmt.Errorf("more than %d bytes", maxPayloadBytes)
}

// cut returns p with lists of at most that many elements.
func (p Payload) cut(configs, keys, candidates int) Payload {
	kept := make([]PayloadConfig, 0, min(len(p.Configs), configs))
	truncated := len(p.Configs) > configs
	for _, c := range p.Configs[:min(len(p.Configs), configs)] {
		truncated = truncated || len(c.Keys) > keys || len(c.Candidates) > candidates
		c.Keys = c.Keys[:min(len(c.Keys), keys)]
		c.Candidates = c.Candidates[:min(len(c.Candidates), candidates)]
		kept = append(kept, c)
	}
	p.Configs, p.Truncated = kept, truncated
	return p
}
