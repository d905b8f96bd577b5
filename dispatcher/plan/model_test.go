//go:build !race

package plan_test

import (
	"testing"

	"github.com/reroll-dev/reroll/dispatcher/plan"
)

// everything lets all happen that goes with one config and one process.
func everything(s *setup) {
	s.deletions, s.relabels, s.removals, s.freezes, s.keys, s.optOuts, s.oldCopies = true, true, true, true, true, true, true
}

// worlds are the searches: those of the day end within a minute together, those of the night within an hour.
func worlds() (day, night []setup) {
	one := setup{configs: 1, procs: 1, edits: 2, faults: 1, product: theProduct}
	named := func(name string, change func(*setup)) setup {
		s := with(one, change)
		s.name = name
		return s
	}
	day = []setup{
		named("edits", func(*setup) {}),
		named("deletions", func(s *setup) { s.deletions, s.required = true, true }),
		named("optional", func(s *setup) { s.deletions = true }),
		named("absences that count", func(s *setup) { s.deletions, s.counting = true, plan.Counting{Creation: true, Deletion: true} }),
		named("relabels", func(s *setup) { s.relabels, s.removals, s.freezes, s.oldCopies = true, true, true, true }),
		named("hints", func(s *setup) { s.relabels, s.removals, s.hints = true, true, true }),
		named("keys", func(s *setup) { s.keys, s.relabels = true, true }),
		named("opting out", func(s *setup) { s.optOuts = true }),
		named("StatefulSet", func(s *setup) { s.statefulSet = true }),
		named("etcd restored", func(s *setup) { s.restores = true }),
		named("seconds", func(s *setup) { s.seconds, s.edits = true, 1 }),
		named("two processes", func(s *setup) { s.procs, s.edits = 2, 1 }),
		named("two configs", func(s *setup) { s.configs, s.edits = 2, 1 }),
	}
	night = []setup{
		named("three edits, two faults", func(s *setup) { s.edits, s.faults = 3, 2 }),
		named("two edits, three faults", func(s *setup) { s.faults = 3 }),
		named("everything", func(s *setup) { everything(s); s.faults = 2 }),
		named("everything that is required", func(s *setup) { everything(s); s.required, s.hints, s.faults = true, true, 2 }),
		named("StatefulSet", func(s *setup) { s.statefulSet, s.edits, s.faults = true, 3, 2 }),
		named("etcd restored", func(s *setup) { s.restores, s.faults = true, 2 }),
		named("seconds", func(s *setup) { s.seconds, s.faults = true, 2 }),
		named("two processes", func(s *setup) { s.procs, s.faults = 2, 2 }),
		named("two configs", func(s *setup) { s.configs, s.faults = 2, 2 }),
		named("two configs, two processes", func(s *setup) { s.configs, s.procs, s.freezes = 2, 2, true }),
	}
	return day, night
}

// TestModel searches all worlds. Each exception is needed by at least one of them.
func TestModel(t *testing.T) {
	day, night := worlds()
	needed, searched := map[string]bool{}, 0
	search := func(s setup, limit int) {
		t.Run(s.name, func(t *testing.T) {
			for x := range s.run(t, limit) {
				needed[x] = true
			}
			searched++
		})
	}
	for _, s := range day {
		search(s, 200_000)
	}
	if !atNight {
		return
	}
	for _, s := range night {
		search(s, 4_000_000)
	}
	for _, x := range exceptions {
		if !needed[x.name] && searched == len(day)+len(night) {
			t.Errorf("%s excuses nothing", x.name)
		}
	}
}
