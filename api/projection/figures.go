package projection

import (
	"math"
	"slices"
	"time"
	"unique"

	"github.com/reroll-dev/reroll/reloader"
)

// Figure is what statistics count of one change or reload. Figures lie next to each other in memory, so that counting them is cheap.
type Figure struct {
	// Second is when it happened, in Unix time.
	Second int64
	Of     unique.Handle[Subject]
	// Outcome is that of a reload, and Took how long it took until the patch; negative if that is not known.
	Outcome reloader.Reason
	Took    time.Duration
	// Change says that this is a change and not a reload, Patched that the reload wrote a patch.
	Change, Patched bool
}

// Subject is the config that changed, or the workload that rolled.
type Subject struct {
	Cluster   string `json:"cluster" doc:"Its cluster."`
	Kind      string `json:"kind" doc:"Its kind."`
	Namespace string `json:"namespace" doc:"Its namespace."`
	Name      string `json:"name" doc:"Its name."`
}

// never is in no span of time.
const never = math.MinInt64 / 2

func figureOfChange(c *reloader.Change) Figure {
	of := unique.Make(Subject{c.Cluster, string(c.Config.Kind), c.Config.Namespace, c.Config.Name})
	f := Figure{Second: c.VerifiedAt.Unix(), Of: of, Took: -1, Change: true}
	if c.Type == reloader.ChangeBaseline {
		f.Second = never
	}
	return f
}

func figureOfReload(r *reloader.Reload) Figure {
	of := unique.Make(Subject{r.Cluster, r.Workload.Kind, r.Workload.Namespace, r.Workload.Name})
	took, measured := r.Latency()
	if !measured {
		took = -1
	}
	return Figure{Second: r.DecidedAt.Unix(), Of: of, Outcome: r.Outcome, Took: took, Patched: !r.PatchedAt.IsZero()}
}

// Figures returns those of every change and reload that is kept. A baseline counts as one that happened never.
func (p *Projection) Figures() []Figure {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Concat(p.changes.figures, p.reloads.figures)
}
