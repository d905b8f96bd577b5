package fleet

import (
	"context"
	"errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// ErrUnreadable is matched by errors of Configs that need a fix, such as a missing permission.
var ErrUnreadable = errors.New("the config may not be read")

// Configs looks at configs of this cluster. An absent config is not an error.
type Configs interface {
	// Meta reads the metadata of c.
	Meta(ctx context.Context, c reloader.Config) (meta live.Meta, present bool, err error)
	// Look reads c, and records what has changed since the last look.
	Look(ctx context.Context, c reloader.Config) (Seen, error)
}

// Seen is what a look at a config found.
type Seen struct {
	Meta    live.Meta
	Present bool
	// Change is the newest change of the config; zero if none is recorded.
	Change reloader.Change
}

// Queue has the configs that are due for Export. It must not call the Fleet.
type Queue interface{ Add(c reloader.Config) }

// Copies sends copies to other clusters.
type Copies interface {
	// Send brings c to its target in the place of any older copy of the same config. It does not block, and does not call the Fleet.
	Send(c reloader.Copy)
}
