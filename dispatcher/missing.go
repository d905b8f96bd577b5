package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Some dialects promise that a workload is not rolled into pods that cannot start. Such a workload is held while something is missing that its
// pod template requires. Nothing of that is written to the cluster, so that opting out undoes it, and so does taking Reroll away.

// maxMissing bounds what a hold tells of.
const maxMissing = 5

// lacking returns why w must not be rolled now, although steps ask for it; nil if nothing is in the way.
func (d *Dispatcher) lacking(ctx context.Context, t *tracked, w *workload.Workload, steps []step) (*reloader.Hold, error) {
	waits := slices.ContainsFunc(withOutcome(steps, reloader.ReasonReloaded), func(s step) bool {
		f, _, _ := d.recall(s.config)
		return slices.ContainsFunc(d.asking(w, s.config, f), func(dl *dialect.Dialect) bool { return dl.Waits })
	})
	if !waits {
		return nil, nil
	}
	d.mu.Lock()
	edges := slices.SortedFunc(maps.Keys(t.edges), compareConfigs)
	d.mu.Unlock()
	var missing []string
	for _, c := range edges {
		r := w.Template.References[c]
		if r == nil || !r.Required {
			continue
		}
		f, err := d.part(ctx, c)
		if err != nil {
			return nil, err
		}
		missing = append(missing, missingOf(c, f, r)...)
	}
	if len(missing) == 0 {
		return nil, nil
	}
	if more := len(missing) - maxMissing; more > 0 {
		missing = append(missing[:maxMissing], fmt.Sprintf("%d more", more))
	}
	return &reloader.Hold{Reason: reloader.ReasonMissingConfig, Message: "missing: " + strings.Join(missing, ", ")}, nil
}

// missingOf says what of c, which is as f says, is not there although r requires it.
func missingOf(c reloader.Config, f fact, r *workload.Reference) []string {
	if f.absent {
		return []string{c.String()}
	}
	var missing []string
	for _, key := range r.RequiredKeys {
		if _, there := f.digest.Keys[key]; !there {
			missing = append(missing, fmt.Sprintf("key %.80q of %s", key, c))
		}
	}
	return missing
}

// holdUntilThere has t wait for what it lacks, and returns how long to wait before looking again: a config that appears is told of at once.
func (d *Dispatcher) holdUntilThere(t *tracked, hold *reloader.Hold) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.going = false
	d.nextAfter(t)
	return d.holdFor(t, hold, time.Now())
}
