package dispatcher

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// tracked is what is known about one opted-in workload. Dispatcher.mu guards it; w and plan are replaced and never changed.
type tracked struct {
	w    *workload.Workload
	plan *dialect.Plan
	// edges are the configs that w depends on: those that its plan names and those that its patterns were seen to match.
	edges map[reloader.Config]*edge
	carried
	pace
	// hold is why it waits although it is due; nil if it does not.
	hold     *reloader.Hold
	attempts int
	// failed is when the first of the attempts failed.
	failed time.Time
	// rollout is what becomes of the last reload; nil if nobody follows it.
	rollout *rollout
	told
}

// carried is what a workload runs with: its State, and where that is from.
type carried struct {
	// state is the newest that is known. object is what the annotation of the workload says, whose value is text.
	state, object applied.State
	text          string
	// since is when this process learned of a state that it did not write itself: a decision takes no look at a config that began earlier.
	since time.Time
	// intends is the number of the roll that is being written; 0 if none is.
	intends uint64
}

// pace is what decides when a workload rolls, beside its State.
type pace struct {
	slot turn.Slot
	// relist says that its patterns are to be matched against all configs, and listing is when that was begun last.
	relist    bool
	listTries int
	listing   time.Time
	// going says that nothing holds it back any more and it is being rolled.
	going bool
	// calm is until when it is left alone, because it moved each time it was to be rolled.
	calm time.Time
}

// told is what was last told of a workload.
type told struct {
	// problems are those of State and dependencies, in addition to those of the plan; unread is why a config cannot be read.
	crowded, damaged string
	saidCrowded      bool
	reload           string
}

// edge is the dependency of a workload on a config.
type edge struct {
	// open says that the config has to be decided about, and behind that it is to roll the workload as far as is known. opened counts how often it
	// was opened.
	open, behind bool
	opened       int
	wait         turn.Wait
	// tries is how often in a row it could not be decided about, and rest until when it is not tried again.
	tries int
	rest  time.Time
	// changes are those that the workload is behind by, the oldest first.
	changes []reloader.Change
	// unwanted is the write of the config that was there when it was last found not to count for the workload: that is nothing it missed.
	unwanted applied.Write
	// how is the reason by which the entry in State came about, and at is when.
	how reloader.Reason
	at  time.Time
}

// reopen has the config decided about, whatever is known.
func (e *edge) reopen() {
	e.open, e.rest = true, time.Time{}
	e.opened++
}

// close ends what was decided about.
func (e *edge) close() {
	e.open, e.behind, e.wait, e.changes, e.tries = false, false, turn.Wait{}, nil, 0
}

func (e *edge) rests(now time.Time) bool { return now.Before(e.rest) }

// behind reports whether t waits for anything.
func (t *tracked) behind() bool {
	for _, e := range t.edges {
		if e.behind {
			return true
		}
	}
	return false
}

// target is the object that carries the pod template, or that is rolled in its place.
func (t *tracked) target() *workload.Workload { return targetOf(t.w, t.plan) }

func targetOf(w *workload.Workload, p *dialect.Plan) *workload.Workload {
	if w.Via != nil && p.Chosen.Strategy != plan.Restart {
		return w.Via
	}
	return w
}

// index finds workloads by the configs they depend on. Its owner's mutex guards it.
type index struct {
	byRef    map[reloader.WorkloadRef]*tracked
	byConfig map[reloader.Config]map[reloader.WorkloadRef]*tracked
	// patterned has, for each namespace, the workloads with patterns.
	patterned map[string]map[reloader.WorkloadRef]*tracked
	// edges is how many edges the workloads of each namespace have together.
	edges map[string]int
}

func newIndex() *index {
	return &index{
		byRef:     map[reloader.WorkloadRef]*tracked{},
		byConfig:  map[reloader.Config]map[reloader.WorkloadRef]*tracked{},
		patterned: map[string]map[reloader.WorkloadRef]*tracked{},
		edges:     map[string]int{},
	}
}

// put files t under its plan, and drops the edges that the plan does not want any more.
func (x *index) put(t *tracked) {
	ref := t.w.Ref()
	if old := x.byRef[ref]; old != nil && old != t {
		x.remove(ref)
	}
	x.byRef[ref] = t
	if len(t.plan.Patterns) > 0 {
		put(x.patterned, ref.Namespace, ref, t)
	} else {
		drop(x.patterned, ref.Namespace, ref)
	}
	for c := range t.edges {
		if !t.plan.Matches(c) {
			x.unlink(t, c)
		}
	}
	for _, c := range t.plan.Names {
		x.link(t, c)
	}
	// Not everything that a pattern matches can be listed, but what w refers to is known by name.
	for c := range t.w.Template.References {
		if t.plan.Matches(c) {
			x.match(t, c)
		}
	}
}

// maxNamespaceEdges bounds the dependencies of all workloads of one namespace together.
const maxNamespaceEdges = 50_000

// link makes c an edge of t, unless the namespace has as many as it may. A new edge is open.
func (x *index) link(t *tracked, c reloader.Config) {
	if t.edges[c] != nil {
		return
	}
	if x.edges[t.w.Namespace] >= maxNamespaceEdges {
		t.crowded = fmt.Sprintf("dependencies: the workloads of the namespace depend on %d configs together, which is the limit; those that this one names or matches beyond it reload nothing", maxNamespaceEdges)
		return
	}
	x.edges[t.w.Namespace]++
	t.edges[c] = &edge{open: true}
	put(x.byConfig, c, t.w.Ref(), t)
}

// match makes c, which a pattern of t matches, an edge of t, unless t has as many as it may.
func (x *index) match(t *tracked, c reloader.Config) {
	if t.edges[c] == nil && len(t.edges) >= dialect.MaxConfigs {
		t.crowded = fmt.Sprintf("dependencies: the patterns of the workload match more than %d configs; those found beyond that number reload nothing", dialect.MaxConfigs)
		return
	}
	x.link(t, c)
}

func (x *index) unlink(t *tracked, c reloader.Config) {
	x.release(t.w.Namespace, 1)
	delete(t.edges, c)
	drop(x.byConfig, c, t.w.Ref())
}

func (x *index) remove(ref reloader.WorkloadRef) {
	t := x.byRef[ref]
	if t == nil {
		return
	}
	for c := range t.edges {
		drop(x.byConfig, c, ref)
	}
	x.release(ref.Namespace, len(t.edges))
	drop(x.patterned, ref.Namespace, ref)
	delete(x.byRef, ref)
}

// release takes note that workloads of a namespace have n edges less.
func (x *index) release(namespace string, n int) {
	if x.edges[namespace] -= n; x.edges[namespace] <= 0 {
		delete(x.edges, namespace)
	}
}

// dependents returns the workloads that may depend on c, sorted by name. A workload whose pattern matches c gets an edge to it.
func (x *index) dependents(c reloader.Config) []*tracked {
	for _, t := range x.patterned[c.Namespace] {
		if t.plan.Matches(c) {
			x.match(t, c)
		}
	}
	found := make([]*tracked, 0, len(x.byConfig[c]))
	for _, t := range x.byConfig[c] {
		found = append(found, t)
	}
	slices.SortFunc(found, func(a, b *tracked) int { return compareRefs(a.w.Ref(), b.w.Ref()) })
	return found
}

// known returns the configs of a scope, all of this cluster, that have dependents.
func (x *index) known(s scope) []reloader.Config {
	var found []reloader.Config
	for c := range x.byConfig {
		if scopeOf(c) == s && c.Cluster == "" {
			found = append(found, c)
		}
	}
	return found
}

func compareRefs(a, b reloader.WorkloadRef) int { return strings.Compare(a.String(), b.String()) }

func compareConfigs(a, b reloader.Config) int { return strings.Compare(a.String(), b.String()) }

func put[K comparable, V any](m map[K]map[reloader.WorkloadRef]V, key K, ref reloader.WorkloadRef, v V) {
	if m[key] == nil {
		m[key] = map[reloader.WorkloadRef]V{}
	}
	m[key][ref] = v
}

func drop[K comparable, V any](m map[K]map[reloader.WorkloadRef]V, key K, ref reloader.WorkloadRef) {
	delete(m[key], ref)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// hashOf returns a number that is always the same for a text.
func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}
