package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestCrashThenAnotherThenBack: with rolls on record or without, the process that brought app to 2 ended before it could record that. The next
// one cannot read app, and rolls for other, or finds that this was done, too, which it records. Only then it finds that app was 3 meanwhile, and is back.
func TestCrashThenAnotherThenBack(t *testing.T) {
	tests := map[string]struct {
		content string
		rolls   int64
		reason  string
	}{
		"at what the workload was brought to": {"2", 2, "pods and marks have that content"},
		"at what is on record":                {"1", 3, "pods and marks have the content of between"},
	}
	for name, test := range tests {
		for _, variant := range []struct {
			before   int64
			strategy string
			done     bool
		}{{0, "env-vars", false}, {2, "annotations", false}, {0, "annotations", true}, {2, "env-vars", true}} {
			before, strategy := variant.before, variant.strategy
			t.Run(fmt.Sprintf("%s, %s, %d on record, done %v", name, strategy, before, variant.done), func(t *testing.T) {
				settings := scenario.Settings{Strategy: strategy, Window: scenario.Duration(5 * time.Second), MaxWait: scenario.Duration(time.Minute)}
				inWorld(t, settings, func(t *testing.T, w *world) {
					w.twoConfigs("app", "other")
					w.start()
					w.pass(quiet)
					if before > 0 {
						w.edit(alice, app, "2") // what is done later has the name of this one
						w.pass(quiet)
						w.edit(alice, app, "1")
						w.pass(quiet)
					}
					w.store.lose(nil, errLost)
					w.edit(alice, app, "2")
					w.pass(10 * time.Second)
					w.rolled(web, before+1)
					if variant.done {
						w.edit(alice, "ConfigMap/other", "2")
						w.pass(10 * time.Second)
					}
					w.stop()
					w.store.lose(nil, nil)
					w.failing(func(_, ref string) error {
						if strings.HasSuffix(ref, "/app") {
							return errLost
						}
						return nil
					})
					p := w.launch()
					w.stream.connect(p.Handle)
					if !variant.done {
						w.edit(alice, "ConfigMap/other", "2")
					}
					w.pass(10 * time.Second)
					w.rolled(web, before+2)
					w.edit(alice, app, "3")
					w.failing(nil)
					w.pass(3 * time.Second)
					w.edit(alice, app, test.content)
					w.pass(time.Hour)
					if g, _ := w.Generation(t.Context(), web); g != before+test.rolls+1 {
						t.Errorf("%d rolls, want %d: %s", g-1, before+test.rolls, test.reason)
					}
				})
			})
		}
	}
}
