package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Missing says what of c is not there although r, the reference of a workload, requires it. absent says that the config does not exist; content is
// what it has.
func Missing(c reloader.Config, r *workload.Reference, absent bool, content reloader.Digest) []string {
	if absent {
		return []string{c.String()}
	}
	var missing []string
	for _, key := range MissingKeys(r, content) {
		missing = append(missing, fmt.Sprintf("key %.80q of %s", key, c))
	}
	return missing
}

// MissingKeys returns the keys that r requires and that content lacks.
func MissingKeys(r *workload.Reference, content reloader.Digest) []string {
	if len(r.RequiredKeys) == 0 {
		return nil
	}
	var missing []string
	sums := content.KeySums()
	for _, key := range r.RequiredKeys {
		if _, there := sums[key]; !there {
			missing = append(missing, key)
		}
	}
	return missing
}

// maxMissing bounds what MissingText names.
const maxMissing = 5

// MissingText joins what Missing says of several configs into one line.
func MissingText(missing []string) string {
	if more := len(missing) - maxMissing; more > 0 {
		missing = append(slices.Clone(missing[:maxMissing]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(missing, ", ")
}
