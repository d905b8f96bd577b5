package dialect

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// OwnPrefix starts every annotation key of Reroll itself.
const OwnPrefix = "reroll.dev/"

// Dialect is the annotations of one tool, what they mean, and what the tool writes. It is never changed once it is in use.
type Dialect struct {
	Tool
	// Clauses are the tool's annotations in their order of decision.
	Clauses []Clause
	// Choices are the tool's annotations that choose how a workload is rolled.
	Choices []Choice
	// Kinds are the kinds of workload that the tool handles; nil means all.
	Kinds []string
	// Off are labels of a workload that switch the tool off with the value "true"; Requires is an annotation without whose value "true" the tool
	// is off, or empty.
	Off      []string
	Requires string
	Here
	// Mounted says that a volume that no container mounts is not a reference.
	Mounted bool
	// OnCreate and OnDelete say that a config's creation and its deletion are changes of its content.
	OnCreate, OnDelete bool
	// Optional reports whether w's pods start without c, so that its deletion is a change even if OnDelete is false; nil if that holds for none.
	Optional func(w *workload.Workload, c reloader.Config) bool
	// Waits says that a workload is not rolled while a config or key is missing without which none of its pods starts.
	Waits bool
	// Faults returns what is wrong with w's annotations apart from the clauses and choices; nil if nothing can be.
	Faults func(w *workload.Workload) []string
	// Overrules says that what this dialect forbids, no other can ask for.
	Overrules bool
	Marking
}

// Here is where a dialect is read.
type Here struct {
	// Home is the name of the cluster: what is followed by it is followed at home.
	Home string
	// Without are kinds of config that reload nothing.
	Without []reloader.ConfigKind
}

// Tool names the tool that a dialect belongs to.
type Tool struct {
	// Name is the dialect's name in records, metrics and flags.
	Name string
	// Domain ends what the keys of the tool's annotations have before the slash.
	Domain string
	// Variables starts the names of the tool's variables in containers; empty if it has none.
	Variables string
	// More are keys that mean something to the tool, and nothing to Reroll.
	More []string
}

// Owns reports whether key is in the domain of the tool.
func (t Tool) Owns(key string) bool {
	before, _, slashed := strings.Cut(key, "/")
	return slashed && (before == t.Domain || strings.HasSuffix(before, "."+t.Domain))
}

// Clause is one row of a dialect's table: an annotation and its meaning.
type Clause struct {
	// Key is the annotation's key or, for OnInstallation, the flag that stands for it.
	Key string
	// On is the object that carries the annotation.
	On Place
	// Kinds are the kinds of config that the clause is about; nil means all.
	Kinds []reloader.ConfigKind
	// Do is the effect, and As the grammar of the value.
	Do Effect
	As Grammar
}

// Place says on which object a clause is read.
type Place string

// The places of clauses.
const (
	// OnWorkload is the metadata of the workload.
	OnWorkload Place = "workload"
	// OnEither is the metadata of the workload and that of its pod template: what either says holds.
	OnEither Place = "workload and pod template"
	// OnWorkloadElseTemplate is the metadata of the workload or, if it has none of the clauses of this place that are about the config's kind, the
	// metadata of the pod template. Presence counts: "false" on the workload hides the template.
	OnWorkloadElseTemplate Place = "workload, else pod template"
	// OnConfig is the metadata of the config.
	OnConfig Place = "config"
	// OnInstallation is not an object: the clause holds for every workload without a value of an earlier clause of the same effect.
	OnInstallation Place = "installation"
)

// Effect is what a clause does.
type Effect string

// The effects.
const (
	// Ask: the configs that the value names, matches or selects reload the workload, referenced or not.
	Ask Effect = "ask"
	// AskReferenced: the configs that the pod template refers to reload the workload.
	AskReferenced Effect = "ask for references"
	// Search: on a workload, the referenced configs that carry this effect as well reload it.
	Search Effect = "search"
	// Forbid: the configs that the value names or matches never reload the workload.
	Forbid Effect = "forbid"
	// Ignore: on a config, it reloads nothing; on a workload, nothing reloads it.
	Ignore Effect = "ignore"
)

// Grammar says how the value of a clause is read.
type Grammar string

// The grammars. Those of lists separate their items with commas.
const (
	// True is a switch that only "true" turns on, Bool one that every true boolean of Go does.
	True Grammar = "true"
	Bool Grammar = "boolean"
	// Names lists names of configs of the workload's namespace. NamesAcross may have a namespace and a slash before a name, and Globs may also
	// have names with * for any characters and ? for one.
	Names       Grammar = "names"
	NamesAcross Grammar = "names across namespaces"
	Globs       Grammar = "globs"
	// Literals lists valid names of configs of the workload's namespace.
	Literals Grammar = "literals"
	// Regexps lists regular expressions that match whole names of configs of the workload's namespace.
	Regexps Grammar = "regular expressions"
	// Selector is a label selector for configs of the workload's namespace.
	Selector Grammar = "label selector"
	// Followed lists configs of other clusters as cluster/namespace/kind/name.
	Followed Grammar = "configs of other clusters"
)

// exactlyTrue is the only value that turns some switches on.
const exactlyTrue = "true"

// tools are the kinds of workload that all tools but Stakater Reloader and Reroll itself handle at most.
var tools = []string{workload.Deployment.Kind, workload.StatefulSet.Kind, workload.DaemonSet.Kind, workload.DeploymentConfig.Kind}

// Kinds of config for tables. plainConfigs are those that all tools but Stakater Reloader know at most.
var (
	configMaps      = []reloader.ConfigKind{reloader.ConfigMap}
	secrets         = []reloader.ConfigKind{reloader.Secret}
	providerClasses = []reloader.ConfigKind{reloader.SecretProviderClass}
	plainConfigs    = []reloader.ConfigKind{reloader.ConfigMap, reloader.Secret}
)

// applies reports whether w can have anything to do with the dialect. Most workloads have nothing to do with most dialects.
func (d *Dialect) applies(w *workload.Workload) bool {
	if d.Kinds != nil && !slices.Contains(d.Kinds, w.Kind) || d.Requires != "" && w.Annotations[d.Requires] != exactlyTrue {
		return false
	}
	if slices.ContainsFunc(d.Off, func(label string) bool { return w.Labels[label] == exactlyTrue }) {
		return false
	}
	return slices.ContainsFunc(d.Clauses, func(c Clause) bool { return c.On != OnWorkload || w.Annotations[c.Key] != "" })
}

// countsAsReference reports whether the tool counts the reference of w's pod template to c. A pull secret counts in no dialect: a registry token
// that is refreshed twice a day would roll every workload that asks for its references. A list can name it.
func (d *Dialect) countsAsReference(w *workload.Workload, c reloader.Config) bool {
	r := w.Template.References.Get(c)
	if r == nil || r.OnlyPulls() {
		return false
	}
	return !d.Mounted || slices.ContainsFunc(r.Uses, func(u reloader.Use) bool {
		return u.Container != "" || !slices.Contains(workload.UsesByMount, u.How)
	})
}

// KeepsAnnotation reports whether annotations of that key must be kept when a workload or a config is stripped.
func (d *Dialect) KeepsAnnotation(key string) bool {
	return strings.HasPrefix(key, OwnPrefix) || d.WritesAnnotation(key) ||
		slices.ContainsFunc(d.Choices, func(c Choice) bool { return c.Key == key }) ||
		slices.ContainsFunc(d.Clauses, func(c Clause) bool { return c.Key == key && c.On != OnInstallation && d.kinds(&c) != 0 })
}
