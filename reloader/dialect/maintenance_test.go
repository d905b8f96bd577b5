package dialect_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

func TestMaintenance(t *testing.T) {
	set := dialect.All(dialect.StakaterOptions{})
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	w := app(annotations{auto: "true", "reroll.dev/maintenance-window": "CRON_TZ=UTC 0 3 * * * 1h; CRON_TZ=UTC 30 11 * * * 1h"}, nil)
	plan := set.Compile(w)
	windows := plan.Chosen.Maintenance
	if len(windows) != 2 || windows[0].Open(noon) || !windows[1].Open(noon) {
		t.Errorf("windows %v", windows)
	}
	if len(plan.Problems) > 0 {
		t.Errorf("problems %q", plan.Problems)
	}
	faulty := set.Compile(app(annotations{auto: "true", "reroll.dev/maintenance-window": "0 3 * * * 1h;"}, nil))
	want := []string{`reroll.dev/maintenance-window: a window is five fields of cron and a length, such as "0 22 * * 1-5 6h"; it is not rolled until this can be read`}
	if diff := cmp.Diff(want, faulty.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if opening := control.Opening(faulty.Chosen.Maintenance, noon); !opening.IsZero() {
		t.Errorf("what cannot be read opens at %s", opening)
	}
}
