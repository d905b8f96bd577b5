package plan_test

import "testing"

func TestModel(t *testing.T) {
	for _, s := range []setup{
		{name: "two processes", configs: 1, procs: 2, edits: 2, faults: 1, product: theProduct},
		{name: "optional", configs: 1, procs: 1, edits: 2, faults: 1, deletions: true, product: theProduct},
		{name: "hints", configs: 1, procs: 1, edits: 2, faults: 1, removals: true, relabels: true, hints: true, product: theProduct},
		{name: "seconds", configs: 1, procs: 1, edits: 2, faults: 1, seconds: true, product: theProduct},
	} {
		s.run(t, 400_000)
	}
}
