package plan_test

import "testing"

func TestModel(t *testing.T) {
	for _, s := range []setup{
		{name: "edits", configs: 1, procs: 1, edits: 2, faults: 1, product: theProduct},
	} {
		s.run(t, 8_000_000)
	}
}
