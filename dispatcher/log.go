package dispatcher

import (
	"context"
	"log/slog"
	"slices"

	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/reloader"
)

// A line of the log about a reload has its ID under "reload", and those of the changes behind it under "changes"; one about a change has the
// change's ID under "change". They are the IDs of the REST API, so that anyone who has one
// finds the other.

// logChange logs a stored change; first sights only for debugging, since they are many and nothing follows from them.
func (d *common) logChange(c reloader.Change) {
	level := slog.LevelInfo
	if c.Type == reloader.ChangeBaseline {
		level = slog.LevelDebug
	}
	d.Logger.Log(context.Background(), level, "change", "change", c.ID, "config", c.Config.String(), "type", c.Type, "source", c.Source,
		"actors", actorsOf(c.Candidates))
}

func (d *common) logReload(r reloader.Reload) {
	configs := each(r.Causes, func(c reloader.Cause) string { return c.Config.String() })
	var candidates []reloader.Candidate
	for _, c := range r.Causes {
		candidates = append(candidates, c.Candidates...)
	}
	d.Logger.Info("reload", "workload", r.Workload.String(), "outcome", r.Outcome, "reload", r.ID, "changes", changesOf(r.Causes),
		"configs", configs, "actors", actorsOf(candidates), "strategy", r.Strategy, "requested", r.Requested)
}

func (d *common) logRollout(ref reloader.WorkloadRef, r *rollout.Rollout) {
	d.Logger.Info("rollout", "workload", ref.String(), "result", r.State.Result, "reload", r.ID, "message", r.State.Message)
}

func (d *common) logFailed(r reloader.Reload, attempts int) {
	d.Logger.Warn("workload cannot be rolled yet", "workload", r.Workload.String(), "reason", r.Outcome, "attempt", attempts, "error", r.Message,
		"reload", r.ID, "changes", changesOf(r.Causes))
}

func changesOf(causes []reloader.Cause) []string {
	return each(causes, func(c reloader.Cause) string { return c.ChangeID })
}

func actorsOf(candidates []reloader.Candidate) []string {
	return each(candidates, func(c reloader.Candidate) string { return c.Actor.Name() })
}

// each returns a text for each of all, without the same one twice in a row.
func each[T any](all []T, text func(T) string) []string {
	texts := make([]string, 0, len(all))
	for _, one := range all {
		texts = append(texts, text(one))
	}
	return slices.Compact(texts)
}
