package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Awaits returns the configs without which no pod of w starts and for which a dialect waits that w is opted in to, sorted. A key of each may
// be what is missing: see Missing.
func (s Set) Awaits(w *workload.Workload) []reloader.Config {
	var found []reloader.Config
	for _, d := range s {
		if !d.Waits {
			continue // most: the rest is not asked for each of many workloads
		}
		interest, opted := d.Interest(w)
		if !opted {
			continue
		}
		for _, c := range interest.Exact {
			if r := w.Template.References[c]; r != nil && r.Required {
				found = append(found, c)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	if _, opted := s.Interest(w); !opted {
		return nil
	}
	return sortedConfigs(found)
}

// HoldsScheduling reports whether one of the dialects is of a tool that keeps pods from being scheduled.
func (s Set) HoldsScheduling() bool {
	return slices.ContainsFunc(s, func(d *Dialect) bool { return d.Waits })
}

// Missing says what of c is not there although r, the reference of a workload, requires it. absent says that there is no such config; keys
// are those that it has.
func Missing(c reloader.Config, r *workload.Reference, absent bool, keys map[string]string) []string {
	if absent {
		return []string{c.String()}
	}
	var missing []string
	for _, key := range MissingKeys(r, keys) {
		missing = append(missing, fmt.Sprintf("key %.80q of %s", key, c))
	}
	return missing
}

// MissingKeys returns the keys that r requires and that are not among keys.
func MissingKeys(r *workload.Reference, keys map[string]string) []string {
	var missing []string
	for _, key := range r.RequiredKeys {
		if _, there := keys[key]; !there {
			missing = append(missing, key)
		}
	}
	return missing
}

// maxMissing bounds what MissingText tells of.
const maxMissing = 5

// MissingText joins what Missing says of several configs into one line.
func MissingText(missing []string) string {
	if more := len(missing) - maxMissing; more > 0 {
		missing = append(slices.Clone(missing[:maxMissing]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(missing, ", ")
}
