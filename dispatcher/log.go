package dispatcher

import (
	"context"
	"log/slog"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A line of the log about a reload has its ID under "reload", and those of the changes behind it under "changes"; one about a change has the
// change's ID under "change". They are the IDs of the REST API, so that whoever has one
// finds the other.

// logChange tells of a change that was stored. First sights are many, and nothing follows from them.
func (d *Dispatcher) logChange(c reloader.Change) {
	level := slog.LevelInfo
	if c.Type == reloader.ChangeBaseline {
		level = slog.LevelDebug
	}
	d.Logger.Log(context.Background(), level, "change", "change", c.ID, "config", c.Config.String(), "type", c.Type, "source", c.Source,
		"actors", actorsOf(c.Candidates))
}

// logReload tells of a decision about a workload.
func (d *Dispatcher) logReload(r reloader.Reload) {
	configs := make([]string, 0, len(r.Causes))
	var candidates []reloader.Candidate
	for _, c := range r.Causes {
		configs = append(configs, c.Config.String())
		candidates = append(candidates, c.Candidates...)
	}
	d.Logger.Info("reload", "workload", r.Workload.String(), "outcome", r.Outcome, "reload", r.ID, "changes", changesOf(r.Causes),
		"configs", slices.Compact(configs), "actors", actorsOf(candidates), "strategy", r.Strategy)
}

// logRequested tells of a reload that somebody asked for: no change is behind it.
func (d *Dispatcher) logRequested(r reloader.Reload) {
	d.Logger.Info("reload", "workload", r.Workload.String(), "outcome", r.Outcome, "reload", r.ID, "requested", r.Requested, "strategy", r.Strategy)
}

// logRollout tells what became of a reload.
func (d *Dispatcher) logRollout(ref reloader.WorkloadRef, r *rollout) {
	line := []any{"workload", ref.String(), "result", r.state.Result, "reload", r.id, "message", r.state.Message}
	if r.reload != nil {
		line = append(line, "changes", changesOf(r.reload.Causes))
	}
	d.Logger.Info("rollout", line...)
}

// logFailed tells of an attempt to roll a workload that failed. The ID is the one that the attempt is on record under, if it is.
func (d *Dispatcher) logFailed(w *workload.Workload, steps []step, hold reloader.Hold) {
	line := []any{"workload", w.Ref().String(), "reason", hold.Reason, "attempt", hold.Attempts, "error", hold.Message}
	if len(steps) > 0 {
		var changes []string
		for _, s := range steps {
			for _, c := range s.changes {
				changes = append(changes, c.ID)
			}
		}
		line = append(line, "reload", d.reloadID(w, steps)+"-"+string(hold.Reason), "changes", changes)
	}
	d.Logger.Warn("workload cannot be rolled yet", line...)
}

func changesOf(causes []reloader.Cause) []string {
	ids := make([]string, 0, len(causes))
	for _, c := range causes {
		ids = append(ids, c.ChangeID)
	}
	return slices.Compact(ids)
}

func actorsOf(candidates []reloader.Candidate) []string {
	names := make([]string, 0, len(candidates))
	for _, c := range candidates {
		names = append(names, c.Actor.Name())
	}
	return slices.Compact(names)
}
