package dispatcher

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// tracked is what is known about one opted-in workload. Dispatcher.mu guards it; w itself is never changed, only replaced.
type tracked struct {
	w        *workload.Workload
	interest dialect.Plan
	// edges are the configs that w depends on: those its interest names and those its patterns were seen to match.
	edges map[reloader.Config]struct{}
	// handled says to which content of each edge w was brought.
	handled map[reloader.Config]reloader.Handled
	// pending has the changes that w waits for.
	pending map[reloader.Config]*cause
	// waited is since when, by the record, it waited in an earlier process; zero once that is over.
	waited time.Time
	// first is when the oldest pending change was verified, due when the window closes.
	first, due time.Time
	attempts   int
	hold       *reloader.Hold
	// was is what held the workload back when an earlier process ended, or the last failure, if something else holds it back since.
	was *reloader.Hold
	// going says that nothing holds the workload back and it is being flushed.
	going bool
	// rollout is what becomes of the last reload; nil if nobody follows it.
	rollout *rollout
	// unsettled says that some edge has no baseline yet, or has not been looked at by this process.
	unsettled bool
	// listed is when the configs that patterns match were last looked for, of which each has an edge since; zero if that has yet to be.
	listed time.Time
	// doubted are the edges that have been found out about before, or are on record: their configs are not new.
	doubted map[reloader.Config]struct{}
	// joined are the edges without a baseline that w got after all others had theirs: what it carried by then is older than they are.
	joined map[reloader.Config]struct{}
	// away has the configs that an earlier process saw go away from the content of handled and come back, before they were deleted, and those of
	// which it was found out that none did, with false.
	away map[reloader.Config]bool
	// recorded says that the baselines of all edges are on record, so that they outlive the process.
	recorded   bool
	lastReload string
	// recent are the newest reloads on record, and markedAt is when the last one marked the workload, by the API server's clock.
	recent   []string
	markedAt time.Time
	// dried has, in a dry run, the content for which it is on record that t would have been rolled.
	dried map[reloader.Config]string
	// pace is how often the workload was rolled lately, and slot when the rate limits let it go.
	pace reloader.Pace
	slot slot
	// joint has the joint marks that were made last, by dialect.
	joint map[string]jointMark
	// refused says which config the API server will not show, or why the edges cannot be settled.
	refused string
	// crowded says which dependencies are left out because they would be too many; empty if none is.
	crowded string
	// told is what somebody was last told of that.
	told string
	// lacked is what the record says of each config that is missing.
	lacked map[reloader.Config]string
	// stuck says that its edges could not be settled when that was tried last.
	stuck bool
	// trouble is how the last attempts went to read what w depends on, and to record it.
	trouble [stages]trouble
	// requested and retried are the IDs of the values of RequestedAnnotation and RetryAnnotation that are done with.
	requested, retried string
}

// cause collects the changes of one config since the workload was last brought to it, oldest first.
type cause struct {
	changes []reloader.Change
	// force says that the mark on the workload proves a missed change, so that there is one although handled is empty.
	force bool
	// since is when this process came to know of the oldest of them, and heard of the newest.
	since, heard time.Time
}

func newTracked(w *workload.Workload) *tracked {
	return &tracked{
		w:       w,
		edges:   map[reloader.Config]struct{}{},
		handled: map[reloader.Config]reloader.Handled{},
		pending: map[reloader.Config]*cause{},
		dried:   map[reloader.Config]string{},
		joint:   map[string]jointMark{},
		doubted: map[reloader.Config]struct{}{},
		joined:  map[reloader.Config]struct{}{},
		away:    map[reloader.Config]bool{},
	}
}

// index finds workloads by the configs they depend on. Its owner's mutex guards it.
type index struct {
	byRef    map[reloader.WorkloadRef]*tracked
	byConfig map[reloader.Config]map[reloader.WorkloadRef]*tracked
	// patterned has, for each namespace, the workloads whose interest cannot be enumerated.
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

func (x *index) get(ref reloader.WorkloadRef) *tracked { return x.byRef[ref] }

// put files t under interest and reports whether that brought an edge that has no baseline, or a pattern to expand.
func (x *index) put(t *tracked, interest dialect.Plan) bool {
	ref := t.w.Ref()
	old, known := x.byRef[ref]
	if known && old != t {
		x.remove(ref)
	}
	samePatterns := known && old == t && equalPatterns(t.interest, interest)
	if known && !samePatterns {
		t.listed = time.Time{}
	}
	x.byRef[ref] = t
	t.interest = interest
	if len(interest.Patterns) > 0 {
		put(x.patterned, ref.Namespace, ref, t)
	} else {
		drop(x.patterned, ref.Namespace, ref)
	}
	for c := range t.edges {
		if !interest.Matches(c) {
			x.unlink(t, c)
		}
	}
	fresh := !known || old != t
	settled := len(t.handled) > 0 && !t.lacksBaseline()
	for _, c := range interest.Names {
		_, edge := t.edges[c]
		fresh = fresh || !edge
		if x.link(t, c) {
			t.join(c, settled)
		}
	}
	// What a pattern matches cannot be listed everywhere, but what w refers to is known by name.
	for c := range t.w.Template.References {
		if _, edge := t.edges[c]; !edge && interest.Matches(c) {
			fresh = true
			if x.match(t, c) {
				t.join(c, settled)
			}
		}
	}
	return fresh || !samePatterns && len(interest.Patterns) > 0
}

// maxNamespaceEdges bounds the dependencies of all workloads of one namespace together.
const maxNamespaceEdges = 50_000

// link makes c an edge of t, and returns false if the namespace has as many as it may.
func (x *index) link(t *tracked, c reloader.Config) bool {
	namespace := t.w.Namespace
	if _, edge := t.edges[c]; !edge {
		if x.edges[namespace] >= maxNamespaceEdges {
			t.crowded = fmt.Sprintf("dependencies: the workloads of the namespace depend on %d configs together, which is the limit; those that this one names or matches beyond it reload nothing", maxNamespaceEdges)
			return false
		}
		x.edges[namespace]++
	}
	t.edges[c] = struct{}{}
	put(x.byConfig, c, t.w.Ref(), t)
	return true
}

// match makes c, which a pattern of t matches, an edge of t, and returns false if t has as many as it may.
func (x *index) match(t *tracked, c reloader.Config) bool {
	if _, edge := t.edges[c]; !edge && len(t.edges) >= dialect.MaxConfigs {
		t.crowded = fmt.Sprintf("dependencies: the patterns of the workload match more than %d configs; those found beyond that number reload nothing", dialect.MaxConfigs)
		return false
	}
	return x.link(t, c)
}

// join takes note that the edge to c is new, if settled says that all others had their baselines before.
func (t *tracked) join(c reloader.Config, settled bool) {
	if _, doubted := t.doubted[c]; settled && !doubted && t.handled[c].How == "" {
		t.joined[c] = struct{}{}
	}
}

// unlink ends an edge. If it comes back later, it starts with a new baseline.
func (x *index) unlink(t *tracked, c reloader.Config) {
	if _, edge := t.edges[c]; edge {
		x.release(t.w.Namespace, 1)
	}
	delete(t.edges, c)
	delete(t.handled, c)
	delete(t.dried, c)
	delete(t.pending, c)
	delete(t.doubted, c)
	delete(t.joined, c)
	delete(t.away, c)
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
		if t.interest.Matches(c) {
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

// known returns the configs of a kind and namespace of this cluster that have dependents.
func (x *index) known(kind reloader.ConfigKind, namespace string) []reloader.Config {
	var found []reloader.Config
	for c := range x.byConfig {
		if c.Kind == kind && c.Namespace == namespace && c.Cluster == "" {
			found = append(found, c)
		}
	}
	return found
}

func (x *index) refs(mu *sync.Mutex) []reloader.WorkloadRef {
	mu.Lock()
	defer mu.Unlock()
	found := make([]reloader.WorkloadRef, 0, len(x.byRef))
	for ref := range x.byRef {
		found = append(found, ref)
	}
	slices.SortFunc(found, compareRefs)
	return found
}

// settled reports whether every workload has its baselines, on record, but for those with trouble of their own.
func (x *index) settled(mu *sync.Mutex) bool {
	mu.Lock()
	defer mu.Unlock()
	for _, t := range x.byRef {
		if (t.unsettled || !t.recorded) && !t.troubled() {
			return false
		}
	}
	return true
}

// lacksBaseline reports whether it is still to be found out of some edge to which content t was brought. It is not of one for which a dry run
// would have rolled t: that finding is all there is to it.
func (t *tracked) lacksBaseline() bool {
	for c := range t.edges {
		if _, dried := t.dried[c]; t.handled[c].How == "" && t.pending[c] == nil && !dried {
			return true
		}
	}
	return false
}

func sameInterest(a, b dialect.Plan) bool {
	return slices.Equal(a.Names, b.Names) && slices.Equal(a.Problems, b.Problems) && equalPatterns(a, b)
}

func equalPatterns(a, b dialect.Plan) bool {
	return slices.EqualFunc(a.Patterns, b.Patterns, func(p, q dialect.Pattern) bool {
		return p.Kind == q.Kind && p.String() == q.String()
	})
}

func compareRefs(a, b reloader.WorkloadRef) int {
	return strings.Compare(a.String(), b.String())
}

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
