package adoption

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
)

// tool is what a dialect does not tell about its tool.
type tool struct {
	dialect string
	// domain is what the keys of its annotations have before the slash, perhaps after something and a dot.
	domain string
	// more are keys that mean something to the tool and nothing to Reroll.
	more []string
	// labels are keys that count as labels.
	labels []string
}

// The keys that tools leave on a workload's metadata when they are stopped at the wrong moment, and the finalizer that one of them has left.
const (
	waveDisabled  = "wave.pusher.com/scheduling-disabled"
	sapToken      = "pod-reloader.cs.sap.com/config-hash"
	waveFinalizer = "wave.pusher.com/finalizer"
)

var tools = []tool{
	{dialect: "reroll", domain: "reroll.dev"},
	{dialect: "stakater", domain: "reloader.stakater.com"},
	{dialect: "sap", domain: "pod-reloader.cs.sap.com", labels: []string{"pod-reloader.cs.sap.com/ignored", "pod-reloader.cs.sap.com/disabled"}},
	{dialect: "wave", domain: "wave.pusher.com", more: []string{waveDisabled}},
	{dialect: "collaborne", domain: "reloader.k8s.collaborne.com"},
	{dialect: "fabric8", domain: "configmap.fabric8.io"},
	{dialect: "trigger", domain: "trigger.k8s.io", more: []string{"trigger.k8s.io/data-hash"}},
}

// has reports whether key is in the tool's domain.
func (t tool) has(key string) bool {
	before, _, slashed := strings.Cut(key, "/")
	return slashed && (before == t.domain || strings.HasSuffix(before, "."+t.domain))
}

// owner returns the tool in whose domain key is.
func owner(key string) (tool, bool) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.has(key) })
	if i < 0 {
		return tool{}, false
	}
	return tools[i], true
}

// Keeps returns what must be kept of the annotations of workloads and configs for a report: what the dialects of all read, all else in the domain
// of a tool, and what looks like a misspelling of either.
func Keeps(all dialect.Set) func(key string) bool {
	return func(key string) bool {
		if _, owned := owner(key); owned || all.KeepsAnnotation(key) {
			return true
		}
		_, like := near.Word(key, keysOf(all))
		return like
	}
}

// known reports whether key means something as an annotation, to whomever.
func known(all dialect.Set, key string) bool {
	if all.KeepsAnnotation(key) {
		return true
	}
	return slices.ContainsFunc(tools, func(t tool) bool { return slices.Contains(t.more, key) })
}

// keysOf returns the keys of all annotations that somebody can write.
func keysOf(all dialect.Set) []string {
	var keys []string
	for _, d := range all {
		for _, c := range d.Clauses {
			if c.On != dialect.OnInstallation {
				keys = append(keys, c.Key)
			}
		}
		for _, c := range d.Choices {
			keys = append(keys, c.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
