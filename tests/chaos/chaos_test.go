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

// torment runs Reroll in a small world.
func torment(t *testing.T, with func(*options)) report {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
	}
	t.Logf("CHAOS_SEED=%d repeats every choice", seed)
	o := options{Seed: seed, Rate: 15, Configs: 24, Workloads: 18, Window: 100 * time.Millisecond, Sweep: 3 * time.Second, Weather: &weather{}}
	with(&o)
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

// TestOrdeals does to Reroll what comes once in a while.
func TestOrdeals(t *testing.T) {
	for name, with := range map[string]func(*options){
		"power cut":        func(o *options) { o.Disk, o.Ordeal, o.Time = true, powerCut, 8*time.Second },
		"killed and wiped": func(o *options) { o.Ordeal, o.Time, o.Rate = wipe, time.Minute, 60 },
	} {
		t.Run(name, func(t *testing.T) {
			if r := torment(t, with); len(r.faults) > 0 {
				t.Errorf("%d faults", len(r.faults))
			}
		})
	}
}

// TestOracle gives Reroll tasks that it cannot do, and a second hand that rolls next to it: who judges must say so.
func TestOracle(t *testing.T) {
	r := torment(t, func(o *options) {
		o.Time, o.Sweep, o.Weather, o.Meddle = 3*time.Second, 0, &weather{Drop: 1}, rollTwice
	})
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
