package main

import (
	"testing"
	"time"
)

// TestStorm is a storm that is small enough for every day. Its window is long enough for a busy machine to look at all Secrets in it.
func TestStorm(t *testing.T) {
	r, err := run(t.Context(), options{Workloads: 200, Secrets: 300, Bystanders: 10, PerMinute: 600, Window: 3 * time.Second, SampleEvery: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", r)
	for _, fault := range r.faults {
		t.Error(fault)
	}
}
