package dialect

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Plan is what the annotations of one version of a workload say, worked out once. It is never changed and may be shared by goroutines.
type Plan struct {
	// Workload is the version that the Plan was compiled from.
	Workload *workload.Workload
	// Enabled are the dialects that the workload is opted in to, most important first: those with an annotation that asks for something, or
	// that is too faulty to tell. None means that no config reloads the workload; Names, Patterns and Problems are empty then.
	Enabled []*Dialect
	// Names are the configs that are known by name and may reload the workload, because it lists, refers to or follows them. They are sorted,
	// MaxConfigs at most, without those that the same dialect excludes, and need not exist.
	Names []reloader.Config
	// Patterns find more configs that may reload the workload, among all of a kind and namespace.
	Patterns []Pattern
	// Problems are the faults of the annotations, each beginning with the annotation's key. A fault of a list item affects that item alone.
	Problems []string
	// Chosen is what the annotations choose beside the configs. It holds whether the workload is opted in or not.
	Chosen Chosen

	set Set
}

// Chosen is what a workload's annotations choose for its rolls. The zero Chosen leaves everything to the installation.
type Chosen struct {
	// Strategy is the name of the strategy by which the workload is marked, such as annotations, env-vars or restart; empty means the
	// installation's.
	Strategy string
	// Debounce is the debounce window; nil means the installation's, and zero is none.
	Debounce *time.Duration
	// MinInterval is the shortest time between two rolls; zero if the workload asks for none. One that cannot be read is the longest.
	MinInterval time.Duration
	// Maintenance are the windows in which the workload may be rolled; none if it may always be. A text that cannot be read opens never.
	Maintenance []control.Window
	// Keys are the keys of all configs that count. A list that cannot be read lets every key count.
	Keys Keys
	// Pause is the pause of the rollout after a mark.
	Pause Pause
}

// Decision is the answer for one workload and one config.
type Decision struct {
	// Reload says that a change of the config rolls the workload. The fields below Clause are zero unless it does.
	Reload bool
	// Dialect is the name of the first dialect that asks or, if none does, of the one that gives the reason.
	Dialect string
	// Why is the reason, also for a no.
	Why reloader.Reason
	// Clause is the key that decided; empty if none did.
	Clause string
	// Marks are the dialects whose marks are to be written for the config: all that ask, the first of those that write the same mark.
	Marks []*Dialect
	// Created and Deleted say that the creation and the deletion of the config count as changes. Every later change of its counting keys does.
	Created, Deleted bool
	// Waits says that the workload must not be rolled while a config or key is missing without which none of its pods starts.
	Waits bool
	// UsedKeys says that no keys count but those that the pod template uses.
	UsedKeys bool
	// Counts reports whether a key of the config counts, by Chosen.Keys and UsedKeys; nil if every key does.
	Counts func(key string) bool
}

// Compile works out what the annotations of w and its pod template say. It takes time and memory within fixed bounds, whatever they say.
func (s Set) Compile(w *workload.Workload) Plan {
	p := Plan{Workload: w, set: s}
	interest, ok := s.Interest(w)
	if ok {
		p.Names, p.Patterns, p.Problems = interest.Exact, interest.Patterns, interest.Problems
		for _, d := range s {
			if _, enabled := d.Interest(w); enabled {
				p.Enabled = append(p.Enabled, d)
			}
		}
	}
	for _, d := range s {
		if p.Chosen.Strategy = d.Strategy(w); p.Chosen.Strategy != "" {
			break
		}
	}
	if window, ok := s.Window(w); ok {
		p.Chosen.Debounce = &window
	}
	p.Chosen.MinInterval, _ = s.MinInterval(w)
	p.Chosen.Maintenance, p.Chosen.Keys, p.Chosen.Pause = s.Maintenance(w), s.Keys(w), s.Pause(w)
	return p
}

// OptedIn reports whether the workload is opted in to any dialect.
func (p *Plan) OptedIn() bool { return len(p.Enabled) > 0 }

// Only returns the plan of one dialect alone, without what the others ask, forbid and choose. A joint mark is made of its Names.
func (p *Plan) Only(d *Dialect) Plan { return Set{d}.Compile(p.Workload) }

// Matches reports whether c is one of Names or found by one of Patterns. Decide asks for no config that Matches does not report.
func (p *Plan) Matches(c reloader.Config) bool {
	return slices.Contains(p.Names, c) || c.Cluster == "" && slices.ContainsFunc(p.Patterns, func(o Pattern) bool {
		return o.Kind == c.Kind && o.Namespace == c.Namespace && o.Match(c.Name)
	})
}

// Optional reports whether pods of the workload start without c: its template does not refer to c, or marks each reference as optional.
func (p *Plan) Optional(c reloader.Config) bool {
	r := p.Workload.Template.References[c]
	return r == nil || r.Optional
}

// Shows reports whether the workload may know anything of c. A config of its own namespace it may. One of another namespace must name that namespace
// in ShareKey or, if the workload follows it by the name of its cluster, that cluster in FollowersKey. Ask before its content is read: a workload must
// learn no more of a config that is not shown than of one that does not exist.
func (p *Plan) Shows(c ConfigMeta) bool { return p.set.Shows(p.Workload, c) }

// Decide says whether a change of c reloads the workload, and what counts as one. Of an absent config the ConfigMeta has the name alone. However many
// dialects ask, there is one answer: the first that asks decides, unless Reroll's own dialect forbids it; if none asks, the first that knows more than
// that the workload is not opted in gives the reason.
func (p *Plan) Decide(c ConfigMeta) Decision {
	demands, answer := p.set.decide(p.Workload, c)
	if len(demands) == 0 {
		return answer
	}
	answer = demands[0].decision
	answer.Marks = p.set.Asking(p.Workload, c)
	for _, d := range answer.Marks {
		answer.Created = answer.Created || d.OnCreate
		answer.Deleted = answer.Deleted || d.OnDelete || d.Goes != nil && d.Goes(p.Workload, c.Config)
		answer.Waits = answer.Waits || d.Waits
	}
	keys := p.Chosen.Keys
	if answer.UsedKeys = onlyUsed(demands, p.Workload, c.Config); answer.UsedKeys {
		keys = keys.OnlyUsed()
	}
	if !keys.all() {
		uses := usesOf(p.Workload, c.Config)
		answer.Counts = func(key string) bool { return keys.Count(key, uses) }
	}
	return answer
}
