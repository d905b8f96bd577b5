package dialect

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// OwnPrefix starts every annotation key of Reroll itself.
const OwnPrefix = "reroll.dev/"

// Dialect is the annotations of one tool, what they mean, and what the tool writes. It is never changed once it is in use.
type Dialect struct {
	// Name is the dialect's name in records, metrics and flags.
	Name string
	// FieldManager is the field manager under which the tool patches workloads.
	FieldManager string
	// Clauses are the tool's annotations in the order in which they decide.
	Clauses []Clause
	// Sees reports whether the tool takes a reference of that shape for one. It is not asked about pull secrets, which count in no dialect.
	Sees func(r *workload.Reference) bool
	// MarkValue returns the value of the tool's mark for a content; empty if that content has none. It is nil if Joint is not.
	MarkValue func(c digest.Content, kind reloader.ConfigKind) string
	// Keyed says that keyed marks are written instead of the tool's own; see Values.
	Keyed bool
	// Joint makes one mark of all configs together; nil if each config has its own.
	Joint *Joint
	// Marks is the name of the strategy by which the tool marks workloads; empty means the one that the workload or the installation
	// chooses.
	Marks string
	// Writes are the keys of the annotations that the tool writes on workloads and their pod templates; one that ends in * stands for all
	// that start so.
	Writes []string
	// Kinds are the kinds of workload that the tool looks after; nil means all.
	Kinds []string
	// Asked reports whether a workload has anything to do with the tool; nil if the clauses say all about that.
	Asked func(w *workload.Workload) bool
	// OnlyUsed reports whether of c, which w asks for, the keys alone matter that the pod template uses; nil if all keys always do.
	OnlyUsed func(w *workload.Workload, c reloader.Config) bool
	// OnCreate and OnDelete say that a config's creation and its deletion are changes of its content.
	OnCreate, OnDelete bool
	// Goes reports whether w may go on without c, so that its deletion is a change for w even if OnDelete does not say so; nil if that holds for
	// none.
	Goes func(w *workload.Workload, c reloader.Config) bool
	// Waits says that w is not rolled while a config or key is missing without which none of its pods starts.
	Waits bool
	// Faults returns what is wrong with a workload's annotations beside the clauses and choices; nil if nothing can be.
	Faults func(w *workload.Workload) []string
	// Overrules says that what this dialect forbids, no other can ask for.
	Overrules bool
	// Choices are what the tool's annotations choose on the workload alone, beside which configs reload it.
	Choices Choices
}

// Clause is one row of a dialect's table: an annotation and its meaning.
type Clause struct {
	// Key is the annotation's key or, for Installation, the flag that stands for it.
	Key string
	// Where is the object that carries it.
	Where Where
	// Kinds are the kinds of config that it is about; nil means all.
	Kinds []reloader.ConfigKind
	// Meaning is what it says.
	Meaning Meaning
}

// Where says on which object a clause is read.
type Where string

// The places of clauses.
const (
	// OnWorkload is the metadata of the workload.
	OnWorkload Where = "workload"
	// OnEither is the metadata of the workload and that of its pod template: what either says holds.
	OnEither Where = "workload and pod template"
	// OnWorkloadOrTemplate is the metadata of the workload or, if that has none of the clauses of this place that are about the
	// config's kind, the metadata of its pod template. Presence counts: "false" on the workload hides the template.
	OnWorkloadOrTemplate Where = "workload, else pod template"
	// OnConfig is the metadata of the config.
	OnConfig Where = "config"
	// Installation is no object: the clause holds for every workload.
	Installation Where = "installation"
)

func (c Clause) covers(kind reloader.ConfigKind) bool {
	return c.Kinds == nil || slices.Contains(c.Kinds, kind)
}

// ConfigMeta is a config with its annotations and labels.
type ConfigMeta struct {
	Config      reloader.Config
	Annotations map[string]string
	Labels      map[string]string
	// Unselected says that the config's labels do not match those that the installation asks for.
	Unselected bool
	// Follows is the name of the config's cluster if a workload that is there as well may follow it by that name; empty otherwise.
	Follows string
}

// Hash returns the value of the tool's own mark for content c; empty if there is none. It is no digest: it may be equal for different
// contents.
func (d *Dialect) Hash(c digest.Content, kind reloader.ConfigKind) string {
	if d.MarkValue == nil {
		return ""
	}
	return d.MarkValue(c, kind)
}

// speaks reports whether w can have anything to do with the dialect. Most workloads have nothing to do with most dialects.
func (d *Dialect) speaks(w *workload.Workload) bool {
	if d.Kinds != nil && !slices.Contains(d.Kinds, w.Kind) {
		return false
	}
	addressed := slices.ContainsFunc(d.Clauses, func(c Clause) bool {
		return c.Where != OnWorkload || w.Annotations[c.Key] != ""
	})
	return addressed && (d.Asked == nil || d.Asked(w))
}

// KeepsAnnotation reports whether annotations of that key must be kept when a workload or a config is stripped.
func (d *Dialect) KeepsAnnotation(key string) bool {
	if d.WritesAnnotation(key) || strings.HasPrefix(key, OwnPrefix) {
		return true
	}
	return d.Choices.keeps(key) ||
		slices.ContainsFunc(d.Clauses, func(c Clause) bool { return c.Key == key && c.Where != Installation })
}
