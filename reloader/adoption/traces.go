package adoption

import (
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// own is the name of Reroll's own dialect.
const own = "reroll"

// Trace is what one tool and its users have written on a workload.
type Trace struct {
	// Dialect is the name of the tool's dialect.
	Dialect string `json:"dialect"`
	// Annotations are the keys by which somebody asks the tool for something, on the workload or its pod template.
	Annotations []string `json:"annotations"`
	// Marks are the names of variables, and the keys of annotations of the pod template, that the tool or Reroll in its place has written.
	Marks []string `json:"marks"`
}

// tool is what a dialect does not say about its tool.
type tool struct {
	dialect string
	// domain is what the keys of its annotations have before the slash, perhaps after more labels and a dot.
	domain string
	// variables is the prefix of the variables by which it marks containers; empty if it marks none.
	variables string
	// more are keys that mean something to the tool and nothing to Reroll, and labels are keys that count as labels.
	more, labels []string
}

var tools = []tool{
	{dialect: own, domain: "reroll.dev"},
	{dialect: "stakater", domain: "reloader.stakater.com", variables: workload.MarkPrefix},
	{dialect: "sap", domain: "pod-reloader.cs.sap.com", labels: []string{"pod-reloader.cs.sap.com/ignored", "pod-reloader.cs.sap.com/disabled"}},
	{dialect: "wave", domain: "wave.pusher.com", more: []string{mark.SchedulingKey}},
	{dialect: "collaborne", domain: "reloader.k8s.collaborne.com", variables: workload.CollabornePrefix},
	{dialect: "fabric8", domain: "configmap.fabric8.io", variables: workload.Fabric8Prefix},
	{dialect: "trigger", domain: "trigger.k8s.io", more: []string{"trigger.k8s.io/data-hash"}},
}

// owner returns the tool in whose domain key is.
func owner(key string) (tool, bool) {
	domain, _, slashed := strings.Cut(key, "/")
	i := slices.IndexFunc(tools, func(t tool) bool { return domain == t.domain || strings.HasSuffix(domain, "."+t.domain) })
	if i < 0 || !slashed {
		return tool{}, false
	}
	return tools[i], true
}

// traces returns what the tools of all have left on w.
func traces(all dialect.Set, w *workload.Workload) []Trace {
	found := []Trace{}
	for _, d := range all {
		t := Trace{Dialect: d.Name, Annotations: []string{}, Marks: marks(d, w)}
		for _, key := range keysOf(dialect.Set{d}) {
			_, here := w.Annotations[key]
			_, there := w.Template.Annotations[key]
			if here || there {
				t.Annotations = append(t.Annotations, key)
			}
		}
		if len(t.Annotations)+len(t.Marks) > 0 {
			found = append(found, t)
		}
	}
	return found
}

// marks returns the marks of d's tool on w.
func marks(d *dialect.Dialect, w *workload.Workload) []string {
	found := []string{}
	i := slices.IndexFunc(tools, func(t tool) bool { return t.dialect == d.Name && t.variables != "" })
	for _, c := range w.Template.Containers {
		for _, m := range c.Marks {
			if i >= 0 && strings.HasPrefix(m.Name, tools[i].variables) && m.Value != "" {
				found = append(found, m.Name)
			}
		}
	}
	for _, key := range sortedKeys(w.Template.Annotations) {
		if d.WritesAnnotation(key) {
			found = append(found, key)
		}
	}
	return found
}

// Keeps returns which annotations of workloads and configs a Report needs: those that the dialects of all read, all others in the domain of a tool,
// and those that look like a misspelling of either.
func Keeps(all dialect.Set) func(key string) bool {
	return func(key string) bool {
		if _, owned := owner(key); owned || all.KeepsAnnotation(key) {
			return true
		}
		_, like := near.Word(key, keysOf(all))
		return like
	}
}

// keysOf returns the keys of all annotations that users write.
func keysOf(all dialect.Set) []string {
	var keys []string
	for _, d := range all {
		for _, c := range d.Clauses {
			if c.On != dialect.OnInstallation {
				keys = append(keys, c.Key)
			}
		}
		for _, choice := range d.Choices {
			keys = append(keys, choice.Key)
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	slices.Sort(keys)
	return slices.Compact(keys)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
