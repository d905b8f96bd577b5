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
	In     unique.Handle[Place]
	Of     unique.Handle[Subject]
	// Took is how long a reload took until the patch; negative if that is not known.
	Took time.Duration
	// Outcome is the place of that of a reload in reloader.Outcomes; negative if it is none of them.
	Outcome int8
	// Change says that this is a change and not a reload, Patched that the reload wrote a patch.
	Change, Patched bool
}

// Place is where it happened: what may be seen of it depends on that alone.
type Place struct {
	Cluster   string `json:"cluster" doc:"Its cluster."`
	Namespace string `json:"namespace" doc:"Its namespace."`
}

// Subject is the config that changed, or the workload that rolled.
type Subject struct {
	Place
	Kind string `json:"kind" doc:"Its kind."`
	Name string `json:"name" doc:"Its name."`
}

// never is in no span of time.
const never = math.MinInt64 / 2

func figureOfChange(c *reloader.Change) Figure {
	in := Place{c.Cluster, c.Config.Namespace}
	f := Figure{
		Second: c.VerifiedAt.Unix(), In: unique.Make(in), Of: unique.Make(Subject{in, string(c.Config.Kind), c.Config.Name}),
		Took: -1, Change: true,
	}
	if c.Type == reloader.ChangeBaseline {
		f.Second = never
	}
	return f
}

func figureOfReload(r *reloader.Reload) Figure {
	in := Place{r.Cluster, r.Workload.Namespace}
	took, measured := r.Latency()
	if !measured {
		took = -1
	}
	return Figure{
		Second: r.DecidedAt.Unix(), In: unique.Make(in), Of: unique.Make(Subject{in, r.Workload.Kind, r.Workload.Name}),
		Outcome: int8(slices.Index(reloader.Outcomes, r.Outcome)), Took: took, Patched: !r.PatchedAt.IsZero(),
	}
}

// AppendFigures appends to a slice those of every change and reload that is kept. A baseline counts as one that happened never.
func (p *Projection) AppendFigures(to []Figure) []Figure {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return append(append(to, p.changes.figures...), p.reloads.figures...)
}
