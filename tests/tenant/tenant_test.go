package main

import "testing"

// TestTenant: next to a namespace of workloads that are made to hurt every ordinary workload rolls once, a restart gets ready, and each of the
// hostile ones says what is wrong with it. make hostile does the same at full size and judges the times.
func TestTenant(t *testing.T) {
	r, err := run(t.Context(), short(), func(step string) { t.Log(step) })
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
	t.Log(r)
}
