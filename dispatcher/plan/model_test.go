package plan_test

import (
	"testing"

	"github.com/reroll-dev/reroll/dispatcher/applied"
)

func counting(creation, deletion bool) applied.Counting {
	return applied.Counting{Creation: creation, Deletion: deletion}
}

func TestModel(t *testing.T) {
	for _, s := range []setup{
		{name: "edits", configs: 1, procs: 1, edits: 2, faults: 1, product: theProduct},
		{name: "required", configs: 1, procs: 1, edits: 2, faults: 1, deletions: true, required: true, product: theProduct},
		{name: "optional", configs: 1, procs: 1, edits: 2, faults: 1, deletions: true, product: theProduct},
		{name: "hints", configs: 1, procs: 1, edits: 2, faults: 1, removals: true, relabels: true, hints: true, product: theProduct},
		{name: "kinds", configs: 1, procs: 1, edits: 2, faults: 1, removals: true, relabels: true, freezes: true, oldCopies: true, product: theProduct},
		{name: "creation", configs: 1, procs: 1, edits: 2, faults: 1, deletions: true, counting: counting(true, true), product: theProduct},
	} {
		s.run(t, 400_000)
	}
}
