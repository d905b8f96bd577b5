package dialect

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// usesKey reports whether w uses a key of c, or all of c, in another way than those of but. What w does not refer to, it uses whole: it
// is named for a use that the pod template does not show.
func usesKey(w *workload.Workload, c reloader.Config, key string, but ...string) bool {
	r := w.Template.References[c]
	if r == nil {
		return true
	}
	return slices.ContainsFunc(r.Uses, func(u reloader.Use) bool {
		return !slices.Contains(but, u.How) && (len(u.Keys) == 0 || slices.Contains(u.Keys, key))
	})
}
