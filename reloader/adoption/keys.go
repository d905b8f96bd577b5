package adoption

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/dialect"
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
	// trims says that the tool drops the spaces around the names in its lists.
	trims bool
}

// The keys that tools leave on a workload's metadata when they are stopped at the wrong moment, and the finalizer that one of them has left.
const (
	waveDisabled  = "wave.pusher.com/scheduling-disabled"
	sapToken      = "pod-reloader.cs.sap.com/config-hash"
	waveFinalizer = "wave.pusher.com/finalizer"
)

var tools = []tool{
	{dialect: "reroll", domain: "reroll.dev", trims: true},
	{dialect: "stakater", domain: "reloader.stakater.com", trims: true},
	{dialect: "sap", domain: "pod-reloader.cs.sap.com", labels: []string{"pod-reloader.cs.sap.com/ignored", "pod-reloader.cs.sap.com/disabled"}},
	{dialect: "wave", domain: "wave.pusher.com", more: []string{waveDisabled}},
	{dialect: "collaborne", domain: "reloader.k8s.collaborne.com"},
	{dialect: "fabric8", domain: "configmap.fabric8.io"},
	{dialect: "trigger", domain: "trigger.k8s.io", more: []string{"trigger.k8s.io/data-hash"}},
	{dialect: "xing", domain: "com.xing.deployment-restart"},
}

func toolOf(name string) tool {
	for _, t := range tools {
		if t.dialect == name {
			return t
		}
	}
	return tool{dialect: name}
}

// has reports whether key is in the tool's domain.
func (t tool) has(key string) bool {
	before, _, slashed := strings.Cut(key, "/")
	if t.dialect == "xing" { // whose keys have no slash
		return strings.HasPrefix(key, t.domain)
	}
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
		_, near := nearest(key, keysOf(all))
		return near
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
			if c.Where != dialect.Installation {
				keys = append(keys, c.Key)
			}
		}
		for _, choice := range d.Choices.Strategy {
			keys = append(keys, choice.Key)
		}
		keys = append(keys, d.Choices.PausePeriod, d.Choices.Window, d.Choices.MinInterval, d.Choices.Maintenance, d.Choices.Weight, d.Choices.Keys)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Limits of likeness.
const (
	// maxTypos is how many letters may be wrong in what is taken for a misspelling, but no more than one of lettersPerTypo.
	maxTypos       = 2
	lettersPerTypo = 3
	// longestLike bounds what is compared: names and keys of Kubernetes are shorter.
	longestLike = 320
)

// nearest returns the word that text is most likely a misspelling of. Upper case counts as little as can be.
func nearest(text string, words []string) (string, bool) {
	best, least := "", min(maxTypos, len(text)/lettersPerTypo)+1
	if len(text) > longestLike {
		return "", false
	}
	lower := strings.ToLower(text)
	for _, word := range words {
		if len(word)-len(text) > maxTypos || len(text)-len(word) > maxTypos || word == text {
			continue
		}
		if d := distance(lower, strings.ToLower(word), least); d < least {
			best, least = word, d
		}
	}
	return best, best != ""
}

// distance returns how many letters have to be changed, added, left out, or swapped with the next one to make b of a; below or more is all
// the same.
func distance(a, b string, below int) int {
	older, before, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		if slices.Min(row) >= below {
			return below
		}
		older, before, row = before, row, older
	}
	return before[len(b)]
}
