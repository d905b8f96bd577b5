package main

import "testing"

// TestTenant: a namespace of workloads that are made to hurt delays no ordinary roll and no start, and each of them says what is wrong with it.
// make hostile does the same at full size and judges the times.
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
