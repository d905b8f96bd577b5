package plan

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// CountingOf returns what counts as a change of c by the decision about it. created and deleted say that creations and deletions count for every
// workload. The content of a SecretProviderClass lies elsewhere, and stays without it.
func CountingOf(c reloader.Config, by dialect.Decision, created, deleted bool) Counting {
	if c.Kind.External() {
		return Counting{}
	}
	return Counting{Creation: created || by.Created, Deletion: deleted || by.Deleted}
}

// FirstOf returns what w says about c at first sight. born is when the ledger was born.
func FirstOf(w *workload.Workload, c reloader.Config, born time.Time) First {
	first := First{Written: w.LastWritten, Born: born}
	if r := w.Template.References.Get(c); r != nil {
		first.Required = r.Required
	}
	if w.Roll() == workload.NewJob || c.Cluster != "" {
		first.Mark = MarkNone
	}
	return first
}
