package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// config names a ConfigMap or Secret.
type config struct {
	Kind, Namespace, Name string
}

// marks are what a pod template says about each config: the hash that Reroll has written.
type marks map[config]string

// sight is a pod template as the API server has shown it, at one generation of its workload. Who else writes the spec leaves the
// template alone and counts what it does, so that each other generation after the first is one template change of Reroll.
type sight struct {
	Generation int64
	// Others is how many of the generations are somebody else's.
	Others int64
	Marks  marks
	// Reload is the reload that the workload names as its last, for who looks into a fault.
	Reload string
}

// rolls is how many template changes there were.
func (s sight) rolls() int64 { return s.Generation - 1 - s.Others }

// fault is what is wrong with a workload.
type fault struct {
	Kind     string
	Workload string
	Text     string
}

// The kinds of faults.
const (
	// lost: the template does not say what the config holds.
	lost = "lost"
	// doubled: more template changes than contents, or one that changes no mark.
	doubled = "doubled"
	// stale: a mark went back to a content that the config no longer had.
	stale = "stale"
)

// judge compares what a workload went through with the contents that its configs had, each given as a hash, oldest first, without
// repetition of neighbours. The first content is the baseline, for which there need be no mark.
func judge(name string, contents map[config][]string, seen []sight) []fault {
	if len(seen) == 0 {
		return []fault{{lost, name, "the API server has never shown it"}}
	}
	faults := judgeCount(name, contents, seen)
	last := seen[len(seen)-1].Marks
	for _, c := range slices.SortedFunc(maps.Keys(contents), func(a, b config) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
		faults = append(faults, judgeEnd(name, c, contents[c], last)...)
		faults = append(faults, judgeOrder(name, c, contents[c], seen)...)
	}
	return faults
}

// judgeCount finds template changes for which there is no new content.
func judgeCount(name string, contents map[config][]string, seen []sight) []fault {
	var faults []fault
	versions := 0
	for _, hashes := range contents {
		versions += len(hashes) - 1
	}
	if rolls := seen[len(seen)-1].rolls(); rolls > int64(versions) {
		faults = append(faults, fault{doubled, name, fmt.Sprintf("%d template changes for %d new contents", rolls, versions)})
	}
	for i := 1; i < len(seen); i++ {
		if before, after := seen[i-1], seen[i]; after.rolls() == before.rolls()+1 && after.Generation == before.Generation+1 && maps.Equal(before.Marks, after.Marks) {
			faults = append(faults, fault{doubled, name, fmt.Sprintf("generation %d has the marks of the one before; %s came after %s", after.Generation, after.Reload, before.Reload)})
		}
	}
	return faults
}

// judgeEnd finds a mark that is not that of the newest content.
func judgeEnd(name string, c config, hashes []string, last marks) []fault {
	mark, marked := last[c]
	want := hashes[len(hashes)-1]
	if mark == want || !marked && want == hashes[0] {
		return nil
	}
	return []fault{{lost, name, fmt.Sprintf("%s %s has content %s, and the template says %q", c.Kind, c.Name, want, mark)}}
}

// judgeOrder finds marks that do not come in the order of the contents.
func judgeOrder(name string, c config, hashes []string, seen []sight) []fault {
	at, previous := 0, ""
	for _, s := range seen {
		mark := s.Marks[c]
		if mark == previous {
			continue
		}
		next := slices.Index(hashes[at:], mark)
		if next < 0 {
			return []fault{{stale, name, fmt.Sprintf("%s %s: generation %d brings %q, which is not among the contents since the last mark", c.Kind, c.Name, s.Generation, mark)}}
		}
		at, previous = at+next, mark
	}
	return nil
}
