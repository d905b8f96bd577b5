package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestMain(m *testing.M) {
	if serveNATS() {
		return
	}
	os.Exit(m.Run())
}

// shortRun is small enough for every day.
func shortRun(t *testing.T) options {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
	}
	t.Logf("CHAOS_SEED=%d repeats every choice", seed)
	return options{
		Seed: seed, Time: 30 * time.Second, Updates: 10000, Rate: 15, Others: 2, Configs: 12, Workloads: 18,
		KeepLogs: os.Getenv("CHAOS_KEEP") != "",
		Window:   100 * time.Millisecond, Sweep: 3 * time.Second, KillEvery: 1500 * time.Millisecond, APIServerEvery: 14 * time.Second,
	}
}

func torment(t *testing.T, o options) report {
	t.Helper()
	r, err := run(t.Context(), o)
	if errors.Is(err, errNoMount) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", r)
	return r
}

// TestServe torments the one process with everything in it.
func TestServe(t *testing.T) {
	if r := torment(t, shortRun(t)); len(r.faults) > 0 {
		t.Errorf("%d faults", len(r.faults))
	}
}

// TestRoles torments each role and an external NATS.
func TestRoles(t *testing.T) {
	o := shortRun(t)
	o.Roles, o.Cuts = true, []time.Duration{10 * time.Second}
	if r := torment(t, o); len(r.faults) > 0 {
		t.Errorf("%d faults", len(r.faults))
	}
}

// TestOracle gives Reroll tasks that it cannot do, and a second hand that rolls next to it: who judges must say so.
func TestOracle(t *testing.T) {
	o := shortRun(t)
	o.Time, o.Sweep, o.QuietTime = 3*time.Second, 0, time.Second
	o.KillEvery, o.APIServerEvery = 0, 0
	o.Weather = &weather{Drop: 1}
	o.Meddle = rollTwice
	r := torment(t, o)
	for _, kind := range []string{lost, doubled} {
		if count(r.faults, kind) == 0 {
			t.Errorf("without events and without a sweep, and with a second hand, nothing is %s", kind)
		}
	}
}

// rollTwice changes a template without a reason.
func rollTwice(ctx context.Context, w *world) error {
	victim := w.workloads[0]
	_, err := w.dynamic.Resource(resource(victim.kind)).Namespace(victim.namespace).Patch(ctx, victim.name, types.MergePatchType,
		[]byte(`{"spec":{"template":{"metadata":{"annotations":{"example.com/again":"true"}}}}}`), metav1.PatchOptions{})
	return err
}
