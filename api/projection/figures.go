package projection

import (
	"math"
	"slices"
	"time"
	"unique"

	"github.com/reroll-dev/reroll/reloader"
)

// Figure is what statistics count of one change or reload. Figures are small and lie next to each other in memory, so that counting them is cheap.
type Figure struct {
	In unique.Handle[Place]
	Of unique.Handle[Subject]
	// Second is when it happened, in Unix time; 0 for a baseline, which counts as one that happened never.
	Second uint32
	// Took is how long a reload took until the patch, in TookUnit; negative if that is not known.
	Took int32
	// Outcome is the place of that of a reload in reloader.Outcomes; negative if it is none of them.
	Outcome int8
	// Change says that this is a change and not a reload, Patched that the reload wrote a patch.
	Change, Patched bool
}

// TookUnit is the unit of Figure.Took, of which 59 hours is the most.
const TookUnit = 100 * time.Microsecond

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

func figureOfChange(c *reloader.Change) Figure {
	in := Place{c.Cluster, c.Config.Namespace}
	f := Figure{In: unique.Make(in), Of: unique.Make(Subject{in, string(c.Config.Kind), c.Config.Name}), Took: -1, Change: true}
	if c.Type != reloader.ChangeBaseline {
		f.Second = uint32(bounded(c.VerifiedAt.Unix(), math.MaxUint32))
	}
	return f
}

func figureOfReload(r *reloader.Reload) Figure {
	in, took := Place{r.Cluster, r.Workload.Namespace}, int32(-1)
	if latency, measured := r.Latency(); measured {
		took = int32(bounded(int64(latency/TookUnit), math.MaxInt32))
	}
	return Figure{
		In: unique.Make(in), Of: unique.Make(Subject{in, r.Workload.Kind, r.Workload.Name}),
		Second: uint32(bounded(r.DecidedAt.Unix(), math.MaxUint32)), Took: took,
		Outcome: int8(slices.Index(reloader.Outcomes, r.Outcome)), Patched: !r.PatchedAt.IsZero(),
	}
}

func bounded(n, most int64) int64 { return min(max(n, 0), most) }

// AppendFigures appends to a slice those of every change and reload that is kept and happened between two times in Unix time: at the first, or before the
// other.
func (p *Projection) AppendFigures(to []Figure, since, until int64) []Figure {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, figures := range [][]Figure{p.changes.figures, p.reloads.figures} {
		for _, f := range figures {
			if at := int64(f.Second); at >= since && at < until {
				to = append(to, f)
			}
		}
	}
	return to
}
