// Package ingest is where hints enter Reroll: sources produce them, and a Sink stores them.
//
// A source may tell its sender that a hint is safe only after Put has returned nil.
package ingest

import (
	"context"

	"github.com/reroll-dev/reroll/reloader"
)

// Sink stores hints. Put returns nil only when every hint is on disk that can be stored at all; on an error any part of them may be stored,
// and storing them again is harmless.
type Sink interface {
	Put(ctx context.Context, hints []reloader.Hint) error
}

// SinkFunc is a Sink made of a function.
type SinkFunc func(ctx context.Context, hints []reloader.Hint) error

// Put calls f.
func (f SinkFunc) Put(ctx context.Context, hints []reloader.Hint) error { return f(ctx, hints) }
