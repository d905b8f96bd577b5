package plan

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Restart is the strategy that replaces the pods of a Rollout and leaves its template as it is.
const Restart = dialect.Restart

// Tool returns how a dialect marks workloads of a strategy; false if the hash in the pod template is its only mark.
func Tool(d *dialect.Dialect, strategy string) (mark.Tool, bool) {
	switch {
	case strategy == Restart:
		return mark.Tool{}, false
	case d.Name == mark.Own.Name: // Reroll itself needs no mark but the hash
		return mark.Own, strategy == mark.EnvVars.Name
	case d.Mark.Name != "":
		return d.Mark, true
	}
	return mark.Named(strategy)
}

// Carried is the mark of a tool on a workload.
type Carried struct {
	Dialect *dialect.Dialect
	Value   string
}

// Carries returns the mark that w carries for c: that of the first of the dialects asking for c that has one. A mark that may not cover c is none.
func Carries(w *workload.Workload, c reloader.Config, asking []*dialect.Dialect, strategy string) (Carried, bool) {
	for _, d := range asking {
		tool, marks := Tool(d, strategy)
		if !marks || d.Joint != nil && d.Joint.IgnoredByMark != nil && d.Joint.IgnoredByMark(w, c) {
			continue
		}
		if value, found := tool.Read(w, c); found {
			return Carried{d, value}, true
		}
	}
	return Carried{}, false
}

// Says compares m with live content. values are the marks of the live content of its config. creation says that the creation of the config
// counts as a change.
func (m Carried) Says(values []string, creation bool) MarkSays {
	switch {
	case slices.Contains(values, m.Value):
		return MarkEqual
	case m.Value == mark.DeletedValue && !creation:
		return MarkNone
	}
	return MarkDiffers
}
