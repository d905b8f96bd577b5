package scenario

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// World is a cluster in which something rolls workloads. Namespaces in objects and Refs are those of the data file; a World may map
// them to its own.
type World interface {
	Writer
	Observer
}

// Writer makes the writes of a user who is not Reroll. Those that change an object return by how much they raised its generation by
// themselves: Reroll may be faster than who asks for it afterwards.
type Writer interface {
	Create(ctx context.Context, obj Typed) error
	// Update replaces an object, whatever its resource version.
	Update(ctx context.Context, obj Typed) (raised int64, err error)
	Patch(ctx context.Context, ref Ref, as types.PatchType, body []byte) (raised int64, err error)
	Delete(ctx context.Context, ref Ref) error
}

// Observer looks at what came of them.
type Observer interface {
	// Generation returns metadata.generation of a workload, and 0 if it does not exist. For a CronJob it is one more than the number
	// of Jobs made from it, and for a Job it is how often it was created: other than templates, these are what can become new.
	Generation(ctx context.Context, ref Ref) (int64, error)
	Template(ctx context.Context, ref Ref) (*corev1.PodTemplateSpec, error)
	// Quiesce returns when everything that the writes so far can cause has happened.
	Quiesce(ctx context.Context) error
}

// Real is a World with a Reroll of its own on a real API server. Only scenarios that need that ask for it.
type Real interface {
	// Stop ends Reroll, Kill ends it without warning, and Start starts it again.
	Stop(ctx context.Context) error
	Kill(ctx context.Context) error
	Start(ctx context.Context) error
	// PatchStatus patches the subresource status, as controllers do.
	PatchStatus(ctx context.Context, ref Ref, as types.PatchType, body []byte) error
	// Look returns all that there is to see where a Sight looks, as JSON objects.
	Look(ctx context.Context, at Sight) ([]map[string]any, error)
}

const (
	// patience is how long a template change may take beyond the settings' own waits.
	patience = 4 * time.Minute
	// firstPause and longestPause are between two looks at the workloads.
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// Run gives w what s gives, takes its steps, and fails t where w behaves otherwise than s says.
func Run(ctx context.Context, t testing.TB, s Scenario, w World) {
	t.Helper()
	r := runner{Scenario: s, World: w, t: t, generations: map[Ref]int64{}}
	for _, obj := range s.Given {
		r.write(ctx, Write{Create: &obj})
	}
	r.settle(ctx, "given", nil)
	for i, step := range s.Steps {
		r.take(ctx, fmt.Sprintf("step %d", i+1), step)
	}
	for _, m := range s.Marks {
		template, err := w.Template(ctx, m.Workload)
		if err != nil {
			t.Errorf("template of %s: %v", m.Workload, err)
		} else if d := m.difference(template); d != "" {
			t.Errorf("%s: %s", m.Workload, d)
		}
	}
}

// runner is one run of a scenario.
type runner struct {
	Scenario
	World
	t testing.TB
	// generations has, for every workload, the generation that it has if nobody but the scenario writes it.
	generations map[Ref]int64
}

// take makes the writes of a step and looks at what came of them.
func (r *runner) take(ctx context.Context, when string, step Step) {
	r.t.Helper()
	if step.Down {
		r.must(when, r.real().Stop(ctx))
	}
	for _, write := range step.Do {
		r.write(ctx, write)
	}
	if step.Kill {
		r.must(when, r.real().Kill(ctx))
	}
	if step.Down || step.Kill {
		r.must(when, r.real().Start(ctx))
	}
	r.settle(ctx, when, step.Expect)
	for _, sight := range step.See {
		r.see(ctx, when, sight)
	}
}

func (r *runner) must(when string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", when, err)
	}
}

// real returns r's World as one that can do more. A scenario that asks for more than its World can do cannot be run.
func (r *runner) real() Real {
	r.t.Helper()
	more, ok := r.World.(Real)
	if !ok {
		r.t.Fatalf("a %T cannot run this scenario", r.World)
	}
	return more
}

// write makes one write. What it adds to a workload's generation by itself is not counted.
func (r *runner) write(ctx context.Context, w Write) {
	r.t.Helper()
	ref := w.Target()
	changes := w.Update != nil || w.Patch != ""
	before := int64(0)
	if !changes {
		before = r.generation(ctx, ref)
	}
	raised, err := r.send(ctx, w)
	if err != nil {
		r.t.Fatalf("write %s: %v", ref, err)
	}
	if !ref.Workload() {
		return
	}
	if changes {
		r.generations[ref] += raised
		return
	}
	switch after := r.generation(ctx, ref); {
	case after == 0:
		delete(r.generations, ref)
	case before == 0:
		r.generations[ref] = after
	default:
		r.generations[ref] += after - before // a finalizer keeps it
	}
}

func (r *runner) send(ctx context.Context, w Write) (raised int64, err error) {
	switch {
	case w.Create != nil:
		return 0, r.Create(ctx, w.Create.DeepCopyObject().(Typed))
	case w.Update != nil:
		return r.Update(ctx, w.Update.DeepCopyObject().(Typed))
	case w.Status:
		return 0, r.real().PatchStatus(ctx, w.Patch, PatchTypes[w.As], w.With)
	case w.Patch != "":
		return r.Patch(ctx, w.Patch, PatchTypes[w.As], w.With)
	}
	return 0, r.Delete(ctx, w.Delete)
}

func (r *runner) generation(ctx context.Context, ref Ref) int64 {
	r.t.Helper()
	if !ref.Workload() {
		return 0
	}
	g, err := r.Generation(ctx, ref)
	if err != nil {
		r.t.Fatalf("generation of %s: %v", ref, err)
	}
	return g
}

// settle waits until nothing more can happen, and compares. What is held back may let go later: while a workload has not changed as often as expected, it
// waits on.
func (r *runner) settle(ctx context.Context, when string, expect map[Ref]int) {
	r.t.Helper()
	for ref := range expect {
		if _, ok := r.generations[ref]; !ok {
			r.t.Fatalf("%s: %s is expected to change and does not exist", when, ref)
		}
	}
	deadline := time.After(patience + time.Duration(max(r.Settings.Window, r.Settings.MaxWait)))
	pause := firstPause
	for expired := false; ; pause = min(2*pause, longestPause) {
		if err := r.Quiesce(ctx); err != nil {
			r.t.Fatalf("%s: wait for the end of everything: %v", when, err)
		}
		if expired || r.reached(ctx, expect) {
			break
		}
		select {
		case <-time.After(pause):
		case <-deadline:
			expired = true
		}
	}
	for ref, was := range r.generations {
		now := r.generation(ctx, ref)
		if got := int(now - was); got != expect[ref] {
			r.t.Errorf("%s: the template of %s changed %d times, want %d", when, ref, got, expect[ref])
		}
		r.generations[ref] = now
	}
}

func (r *runner) reached(ctx context.Context, expect map[Ref]int) bool {
	for ref, n := range expect {
		if r.generation(ctx, ref) < r.generations[ref]+int64(n) {
			return false
		}
	}
	return true
}
