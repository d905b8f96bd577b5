package dispatcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const api scenario.Ref = "Deployment/api"

// TestOwnMaintenanceWindow: a workload's own windows hold beside those of the installation, and one that cannot be read holds until it is corrected.
func TestOwnMaintenanceWindow(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.deploy("web", auto+`, reroll.dev/maintenance-window: "CRON_TZ=UTC 0 3 * * * 1h"`, "app")
		w.deploy("api", auto+`, reroll.dev/maintenance-window: "nonsense"`, "app")
		w.settled()
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.rolled(web, 0)
		w.rolled(api, 0)
		hold := w.held(reloader.ReasonOutsideWindow)
		if hold.Due.UTC().Hour() != 3 || hold.Due.UTC().Minute() != 0 {
			t.Errorf("due %s", hold.Due)
		}
		w.pass(time.Until(hold.Due) - time.Minute)
		w.rolled(web, 0)
		w.pass(2 * time.Minute)
		w.rolled(web, 1)
		record, _ := w.store.recordOf(reloader.WorkloadRef{Kind: "Deployment", Namespace: scenario.DefaultNamespace, Name: "api"})
		if len(record.Problems) != 1 || !strings.HasPrefix(record.Problems[0], "reroll.dev/maintenance-window: ") {
			t.Errorf("problems %q", record.Problems)
		}
		if record.Hold == nil || record.Hold.Reason != reloader.ReasonOutsideWindow || !record.Hold.Due.IsZero() {
			t.Errorf("held by %+v", record.Hold)
		}
		w.rolled(api, 0)
		w.says(api, `{"metadata":{"annotations":{"reroll.dev/maintenance-window":"CRON_TZ=UTC 0 0 * * * 24h"}}}`)
		w.pass(quiet)
		w.rolled(api, 1)
	})
}
