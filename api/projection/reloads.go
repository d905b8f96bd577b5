package projection

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

func placesOf(r *reloader.Reload) int {
	keys := 0
	for i := range r.Causes {
		keys += 1 + len(r.Causes[i].Keys)
	}
	return 1 + keys/placeKeys
}

// sameReload tells a later word about one reload from a later reload of the same ID. A workload that goes back to content it
// had before gets the same ID again, and two patches that were accepted at different times are two rolls. Of a patch without a known answer
// the time of the decision distinguishes them, or the changes.
func sameReload(old, next *reloader.Reload) bool {
	if old.PatchedAt.IsZero() || next.PatchedAt.IsZero() {
		return old.DecidedAt.Equal(next.DecidedAt) ||
			slices.EqualFunc(old.Causes, next.Causes, func(a, b reloader.Cause) bool { return a.ChangeID == b.ChangeID })
	}
	return old.PatchedAt.Equal(next.PatchedAt)
}
