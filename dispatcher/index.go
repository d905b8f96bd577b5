package dispatcher

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// index finds workloads by the configs they depend on.
type index struct {
	byRef    map[reloader.WorkloadRef]*tracked
	byConfig map[reloader.Config][]*tracked
	// patterned has, for each namespace, the workloads with patterns.
	patterned map[string]map[reloader.WorkloadRef]*tracked
	// edges is how many edges the workloads of each namespace have together.
	edges map[string]int
}

// put files t under its plan, and drops the edges that the plan does not want any more.
func (x *index) put(t *tracked) {
	ref := t.w.Ref()
	x.byRef[ref] = t
	if len(t.plan.Patterns) > 0 {
		put(x.patterned, ref.Namespace, ref, t)
	} else {
		drop(x.patterned, ref.Namespace, ref)
	}
	for c := range slices.Clone(t.edges).All() {
		if !t.plan.Matches(c) {
			x.unlink(t, c)
			t.edges.Delete(c)
		}
	}
	for _, c := range t.plan.Names {
		x.link(t, c)
	}
	// Not everything that a pattern matches can be listed, but what w refers to is known by name.
	for c := range t.w.Template.References.All() {
		if t.plan.Matches(c) {
			x.link(t, c)
		}
	}
}

// maxNamespaceEdges bounds the dependencies of all workloads of one namespace together.
const maxNamespaceEdges = 50_000

// link makes c an edge of t, unless its namespace or the patterns of t have as many as they may. A new edge is open.
func (x *index) link(t *tracked, c reloader.Config) {
	switch {
	case t.edges.Get(c) != nil:
		return
	case len(t.edges) >= dialect.MaxConfigs && !slices.Contains(t.plan.Names, c):
		t.crowded = fmt.Sprintf("dependencies: the patterns of the workload match more than %d configs; changes of further configs do not roll it", dialect.MaxConfigs)
		return
	case x.edges[t.w.Namespace] >= maxNamespaceEdges:
		t.crowded = fmt.Sprintf("dependencies: the workloads of the namespace depend on %d configs together, which is the limit; changes of further configs do not roll this workload", maxNamespaceEdges)
		return
	}
	x.edges[t.w.Namespace]++
	t.edges.Set(c, &edge{open: true})
	x.byConfig[c] = append(x.byConfig[c], t)
}

// unlink takes t from the dependents of c.
func (x *index) unlink(t *tracked, c reloader.Config) {
	if x.edges[t.w.Namespace]--; x.edges[t.w.Namespace] == 0 {
		delete(x.edges, t.w.Namespace)
	}
	if x.byConfig[c] = slices.DeleteFunc(x.byConfig[c], func(o *tracked) bool { return o == t }); len(x.byConfig[c]) == 0 {
		delete(x.byConfig, c)
	}
}

func (x *index) remove(t *tracked) {
	ref := t.w.Ref()
	for c := range t.edges.All() {
		x.unlink(t, c)
	}
	drop(x.patterned, ref.Namespace, ref)
	delete(x.byRef, ref)
}

// dependents returns the workloads that may depend on c. A workload whose pattern matches c gets an edge to it.
func (x *index) dependents(c reloader.Config) []*tracked {
	for _, t := range x.patterned[c.Namespace] {
		if t.plan.Matches(c) {
			t.relist = t.relist || len(t.idle) > 0 && t.edges.Get(c) == nil // a pattern that found nothing may find c
			x.link(t, c)
		}
	}
	return x.byConfig[c]
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

// scopes returns where there are configs of this cluster that some workload depends on, in a fixed order.
func (x *index) scopes() []scope {
	seen := map[scope]bool{}
	for c := range x.byConfig {
		if c.Cluster == "" {
			seen[scopeOf(c)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b scope) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace))
	})
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
