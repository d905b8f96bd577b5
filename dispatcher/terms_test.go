package dispatcher_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestTerms: the record says what the workload itself asks for, and what it lacks; and says it anew when either changes.
func TestTerms(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.waved()
		w.start()
		w.pass(quiet)
		more := reloader.Config{Kind: reloader.ConfigMap, Namespace: scenario.DefaultNamespace, Name: "more"}
		says := func(want reloader.Terms) {
			t.Helper()
			record, _ := w.store.recordOf(webRef)
			if diff := cmp.Diff(want, record.Terms); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
		}
		says(reloader.Terms{Missing: []reloader.Missing{{Config: more}}})
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {c: "1"}}`)))
		w.pass(quiet)
		says(reloader.Terms{Missing: []reloader.Missing{{Config: more, Keys: []string{"b"}}}})
		w.says("ConfigMap/more", `{"data":{"b":"1"}}`)
		says(reloader.Terms{})
		w.says(web, `{"metadata":{"annotations":{"reroll.dev/maintenance-window":"CRON_TZ=UTC 0 22 * * * 6h","reroll.dev/min-interval":"10m","reroll.dev/weight":"7"}}}`)
		says(reloader.Terms{Windows: []string{"CRON_TZ=UTC 0 22 * * * 6h"}, MinInterval: 600, Weight: 7})
		w.must(w.delete(alice, "ConfigMap/more"))
		w.pass(quiet)
		says(reloader.Terms{Windows: []string{"CRON_TZ=UTC 0 22 * * * 6h"}, MinInterval: 600, Weight: 7, Missing: []reloader.Missing{{Config: more}}})
	})
}
