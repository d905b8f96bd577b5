package dialect_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/dialect"
)

// FuzzChoices reads what a workload chooses for itself: how it is marked, how long it waits, and when.
func FuzzChoices(f *testing.F) {
	for _, value := range []string{"5m", "-1ns", "9223372036854775807ns", "restart", "1000", "1001", "-0", "0 22 * * * 6h; @daily 1h", "CRON_TZ=x * * * * * 1h", ""} {
		f.Add("reroll.dev/window", value, "reroll.dev/min-interval", value)
		f.Add("reroll.dev/maintenance-window", value, "reroll.dev/window", value)
		f.Add("reroll.dev/strategy", value, "reloader.stakater.com/rollout-strategy", value)
	}
	set := dialect.All(dialect.StakaterOptions{})
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		for _, kind := range []string{"Deployment", "Rollout"} {
			w := ofKind(kind, annotations{k1: v1, k2: v2})
			plan := set.Compile(w)
			chosen := plan.Chosen
			if d := chosen.Debounce; d != nil && (*d < 0 || *d > 24*time.Hour) {
				t.Errorf("debounce window %s", d)
			}
			if d := chosen.MinInterval; d < 0 || d > 7*24*time.Hour {
				t.Errorf("min interval %s", d)
			}
			if got := plan.Chosen.Strategy; !slices.Contains([]string{"", "env-vars", "annotations", "restart"}, got) {
				t.Errorf("strategy %q", got)
			}
			if windows := chosen.Maintenance; len(windows) > 1+strings.Count(v1+v2, ";") {
				t.Errorf("%d windows", len(windows))
			}
		}
	})
}
