package app

import (
	"context"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

// redacting takes the names and addresses of people out of hints before they are stored. The client stays: it tells writers
// apart, and a person it does not name.
type redacting struct{ next ingest.Sink }

// Put stores hints without people.
func (r redacting) Put(ctx context.Context, hints []reloader.Hint) error {
	anonymous := make([]reloader.Hint, len(hints))
	for i, h := range hints {
		h.Actor.User, h.Actor.AuthenticatedUser, h.Actor.SourceIP = "", "", ""
		anonymous[i] = h
	}
	return r.next.Put(ctx, anonymous)
}
