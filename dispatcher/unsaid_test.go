package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// appIsUnreadable fails whatever is about the ConfigMap app.
func appIsUnreadable(_, ref string) error {
	if strings.HasSuffix(ref, "/app") {
		return errLost
	}
	return nil
}

// TestCrashThenAnotherThenBack: with rolls on record or without, the process that brought app to 2 ended before it could record that. The next
// one cannot read app, and rolls for other, or finds that this was done, too, which it records. Only then it finds that app was 3 meanwhile, and is back.
func TestCrashThenAnotherThenBack(t *testing.T) {
	tests := map[string]struct {
		content string
		rolls   int64
		reason  string
	}{
		"at what the workload was brought to": {"2", 3, "X8: pods started after the last look that found that content"},
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
					w.failing(appIsUnreadable)
					p := w.launch()
					w.stream.connect(p.Handle)
					if !variant.done {
						w.edit(alice, "ConfigMap/other", "2")
					}
					w.pass(10 * time.Second)
					w.rolled(web, before+2)
					w.failing(nil)
					w.edit(alice, app, "3")
					w.pass(3 * time.Second)
					w.edit(alice, app, test.content)
					w.pass(time.Hour)
					if g := w.revision(web); g != before+test.rolls+1 {
						t.Errorf("%d rolls, want %d: %s", g-1, before+test.rolls, test.reason)
					}
				})
			})
		}
	}
}

// TestUnsaidInTheSecondOfARecord: a process brought app to 1 and recorded that, brought it in the same second to 2, as it had been before, and
// ended before it could record this. Neither the time of the mark nor the name of the reload tells; but nobody else has written that name. The
// next process cannot read app, and rolls for other. Only then it finds what app is.
func TestUnsaidInTheSecondOfARecord(t *testing.T) {
	tests := map[string]struct {
		content string
		rolls   int64
		reason  string
	}{
		"at what the workload was brought to": {"2", 4, "pods and marks have that content"},
		"at what is on record":                {"1", 5, "pods and marks have the content that is not"},
	}
	for name, test := range tests {
		for _, strategy := range []string{"env-vars", "annotations"} {
			t.Run(name+", "+strategy, func(t *testing.T) {
				inWorld(t, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
					w.soonUnsaid()
					w.stop()
					w.store.lose(nil, nil)
					w.failing(appIsUnreadable)
					p := w.launch()
					w.stream.connect(p.Handle)
					w.edit(alice, "ConfigMap/other", "2")
					w.pass(10 * time.Second)
					w.rolled(web, 4)
					w.edit(alice, app, "3")
					w.edit(alice, app, test.content)
					w.failing(nil)
					w.pass(time.Hour)
					if g := w.revision(web); g != test.rolls+1 {
						t.Errorf("%d rolls, want %d: %s", g-1, test.rolls, test.reason)
					}
				})
			})
		}
	}
}

// soonUnsaid has app be 2, 1 and 2 again. The last two rolls are in one second, and only the first of them is on record.
func (w *world) soonUnsaid() {
	w.t.Helper()
	w.twoConfigs("app", "other")
	w.start()
	w.pass(quiet)
	w.edit(alice, app, "2")
	w.pass(quiet)
	w.pass(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	w.edit(alice, app, "1")
	w.pass(300 * time.Millisecond)
	record, _ := w.store.recordOf(webRef)
	second := time.Now().Truncate(time.Second)
	if record.Edges[0].Pending != "" || !record.Pace.At.Truncate(time.Second).Equal(second) {
		w.t.Fatalf("the roll is not on record in its second: %+v", record)
	}
	w.store.lose(nil, errLost)
	w.edit(alice, app, "2")
	w.pass(300 * time.Millisecond)
	w.rolled(web, 3)
	if now := time.Now().Truncate(time.Second); !now.Equal(second) {
		w.t.Fatalf("the second is over: %s", now)
	}
}

// TestRollbackInTheSecondOfARecord: what is on the workload then is the same, but somebody else has brought it back. That is kept as it is, also
// when a process that cannot read app has rolled for other.
func TestRollbackInTheSecondOfARecord(t *testing.T) {
	for _, strategy := range []string{"env-vars", "annotations"} {
		t.Run(strategy, func(t *testing.T) {
			inWorld(t, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
				w.twoConfigs("app", "other")
				w.podStart = 2 * time.Second
				w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(quiet)
				older := w.copyOf()
				w.pass(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
				w.edit(alice, app, "1")
				w.pass(300 * time.Millisecond)
				w.rolled(web, 2)
				w.undo(older)
				w.pass(quiet)
				w.stop()
				w.start()
				w.pass(quiet)
				w.rolled(web, 3)
			})
		})
	}
}

// TestUnsaidThenPodsOfBetween: the process that brought app to 2 ended before it could record that. The next one rolls for other, or does not,
// finds that app was 3 meanwhile, and is back. What stands on the workload is what is live; but pods have started with 3.
func TestUnsaidThenPodsOfBetween(t *testing.T) {
	tests := map[string]struct {
		reason    string
		restarted bool
		other     bool
		more      int64
	}{
		"pods were lost":                      {"they have 3", true, false, 1},
		"pods were lost, and rolled between":  {"they have 3", true, true, 1},
		"nothing started":                     {"no process knows when 2 had gone", false, false, 1},
		"nothing started, and rolled between": {"no process knows when 2 had gone", false, true, 1},
	}
	for name, test := range tests {
		for _, strategy := range []string{"env-vars", "annotations"} {
			t.Run(name+", "+strategy, func(t *testing.T) {
				inWorld(t, scenario.Settings{Strategy: strategy}, func(t *testing.T, w *world) {
					w.twoConfigs("app", "other")
					w.start()
					w.pass(quiet)
					w.store.lose(nil, errLost)
					w.edit(alice, app, "2")
					w.pass(time.Minute)
					w.rolled(web, 1)
					w.stop()
					w.store.lose(nil, nil)
					w.failing(appIsUnreadable)
					p := w.launch()
					w.stream.connect(p.Handle)
					rolls := 1 + test.more
					if test.other {
						w.edit(alice, "ConfigMap/other", "2")
						rolls++
					}
					w.pass(time.Minute)
					p.SetControl(control.Frozen(control.Freeze{}))
					w.failing(nil)
					w.edit(alice, app, "3")
					w.pass(time.Minute)
					if test.restarted {
						w.restarted(web)
					}
					w.pass(time.Minute)
					w.edit(alice, app, "2")
					w.pass(time.Minute)
					p.SetControl(control.Control{})
					w.pass(time.Hour)
					w.stop()
					w.start()
					w.pass(quiet)
					if g := w.revision(web); g != rolls+1 {
						t.Errorf("%d rolls, want %d: %s", g-1, rolls, test.reason)
					}
				})
			})
		}
	}
}

// TestOfOthersThenPodsOfBetween: another tool brought the workload to 2 before we could, app was 3 and is back; pods may have started with 3. What
// another tool does is not taken for our own roll, so with two of them the workload rolls once more.
func TestOfOthersThenPodsOfBetween(t *testing.T) {
	for restarted, more := range map[bool]int64{true: 1, false: 1} {
		t.Run(fmt.Sprintf("restarted %v", restarted), func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.usual()
				w.control = control.Frozen(control.Freeze{})
				p := w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				w.markAsStakater("a=2")
				w.pass(time.Minute)
				w.edit(alice, app, "3")
				w.pass(time.Minute)
				if restarted {
					w.restarted(web)
				}
				w.pass(time.Minute)
				w.edit(alice, app, "2")
				w.pass(time.Minute)
				p.SetControl(control.Control{})
				w.pass(time.Hour)
				w.rolled(web, 1+more)
			})
		})
	}
}
