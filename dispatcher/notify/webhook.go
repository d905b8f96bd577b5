package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/reroll-dev/reroll/reloader"
)

// Webhook asks another program to reload workloads. Make it with NewWebhook. It is safe for concurrent use.
type Webhook struct{ endpoint }

// NewWebhook returns a Webhook that calls an address, which is a secret. It fails if the address is not a URL. version is Reroll's.
func NewWebhook(address, version string) (*Webhook, error) {
	e, err := newEndpoint(address, "", version)
	if err != nil {
		return nil, fmt.Errorf("address of the webhook: %w", err)
	}
	return &Webhook{e}, nil
}

// Notify posts the payload of r. It succeeds if the receiver answers with 2xx within 10 seconds. Another answer is a *StatusError, whose Refused says whether
// calling again is useless until something is changed; after any other error it makes sense. An error does not mean that nothing arrived.
func (w *Webhook) Notify(ctx context.Context, r reloader.Reload) error {
	p := PayloadOf(r)
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("payload of %s: %w", p.Reload, err)
	}
	return w.post(ctx, message{"application/json", body}, http.Header{"Idempotency-Key": {p.IdempotencyKey}}, successful)
}
