package applied

import (
	"cmp"
	"slices"
)

// Newest joins what the workload's annotation says with what the ledger, or this process's memory of it, says. For each config the newer
// write holds. Where writes have no order, as those of another cluster or an absence, the State with more rolls holds, and the ledger if
// both have as many. Each of them must be of the same workload, or zero.
//
// So an annotation that an undo, a replace or an old copy brought back changes nothing, and a roll that is not in the ledger yet is exact.
func Newest(object, ledger State) State {
	switch {
	case !object.Known():
		return ledger
	case !ledger.Known():
		return object
	}
	newest := ledger
	if object.N > ledger.N || object.N == ledger.N && object.At.After(ledger.At) {
		newest.N, newest.At, newest.Mark = object.N, object.At, object.Mark
	}
	if object.N > ledger.N {
		newest.Rolls, newest.Requested = object.Rolls, object.Requested
	}
	newest.Writes = slices.Clone(ledger.Writes)
	for c, o := range object.Writes.All() {
		l, both := ledger.Writes.Find(c)
		order := CompareVersions(o.Version, l.Version)
		if c.Cluster != "" || order == 0 { // the versions do not say which write is newer
			order = cmp.Compare(object.N, ledger.N)
		}
		if !both || order > 0 {
			newest.Writes.Set(c, o)
		}
	}
	return newest
}
