package digest

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// Diff returns the keys whose value differs between old and new, sorted by key. It returns nil if the digests cannot be compared
// or old stands for no content; if new stands for none, every key was removed.
func Diff(old, new reloader.Digest) []reloader.KeyChange {
	if old.IsZero() || !old.Comparable(new) {
		return nil
	}
	var changes []reloader.KeyChange
	before, after := old.KeySums(), new.KeySums()
	for k, v := range after {
		was, ok := before[k]
		switch {
		case !ok:
			changes = append(changes, reloader.KeyChange{Key: k, Op: reloader.KeyAdded})
		case was != v:
			changes = append(changes, reloader.KeyChange{Key: k, Op: reloader.KeyChanged})
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			changes = append(changes, reloader.KeyChange{Key: k, Op: reloader.KeyRemoved})
		}
	}
	slices.SortFunc(changes, func(a, b reloader.KeyChange) int { return cmp.Compare(a.Key, b.Key) })
	return changes
}
