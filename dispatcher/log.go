package dispatcher

import (
	"context"
	"log/slog"

	"github.com/reroll-dev/reroll/reloader"
)

// A line of the log about a reload has its ID under "reload", and those of the changes behind it under "changes"; one about a change has the
// change's ID under "change". They are the IDs of the REST API, so that anyone who has one finds the other.

// logChange logs a stored change; first sights only for debugging, since they are many and nothing follows from them.
func (d *common) logChange(c reloader.Change) {
	level := slog.LevelInfo
	if c.Type == reloader.ChangeBaseline {
		level = slog.LevelDebug
	}
	var actors []string
	for _, a := range c.Candidates {
		actors = append(actors, a.Actor.Name())
	}
	d.Logger.Log(context.Background(), level, "change", "change", c.ID, "config", c.Config.String(), "type", c.Type, "source", c.Source, "actors", actors)
}

func changesOf(causes []reloader.Cause) (ids []string) {
	for _, c := range causes {
		ids = append(ids, c.ChangeID)
	}
	return ids
}
