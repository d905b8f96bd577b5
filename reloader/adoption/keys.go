package adoption

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
)

// The keys that tools leave on a workload's metadata when they are stopped at the wrong moment, and the finalizer that one of them has left.
const (
	waveDisabled  = "wave.pusher.com/scheduling-disabled"
	sapToken      = "pod-reloader.cs.sap.com/config-hash"
	waveFinalizer = "wave.pusher.com/finalizer"
)

// owner returns the dialect of the tool in whose domain key is; nil if it is in none.
func owner(all dialect.Set, key string) *dialect.Dialect {
	i := slices.IndexFunc(all, func(d *dialect.Dialect) bool { return d.Owns(key) })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Keeps returns what must be kept of the annotations of workloads and configs for a report: what the dialects of all read, all else in the domain
// of a tool, and what looks like a misspelling of either.
func Keeps(all dialect.Set) func(key string) bool {
	return func(key string) bool {
		if owner(all, key) != nil || all.KeepsAnnotation(key) {
			return true
		}
		_, like := near.Word(key, keysOf(all))
		return like
	}
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
