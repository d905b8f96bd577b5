package main

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/natsserver"
)

func TestMain(m *testing.M) {
	if natsserver.ServeMember() {
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
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", r)
	return r
}

// TestWiped kills everything at random moments of many edits, and takes NATS's files away each time.
func TestWiped(t *testing.T) {
	r := torment(t, func(o *options) { o.Ordeal, o.Time, o.Rate = wipe, time.Minute, 60 })
	if len(r.faults) > 0 {
		t.Errorf("%d faults", len(r.faults))
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

// TestJudge gives the oracle made-up histories: one that cannot tell right from wrong would call any Reroll good.
func TestJudge(t *testing.T) {
	a, b := config{"ConfigMap", "n", "a"}, config{"Secret", "n", "b"}
	tests := map[string]struct {
		contents map[config][]string
		seen     []sight
		want     []string
	}{
		"a baseline needs no mark":                                             {map[config][]string{a: {"0"}}, []sight{{Generation: 1, Marks: marks{}}}, nil},
		"one template change for each content is right":                        {map[config][]string{a: {"0", "1", "2"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "1"}}, {Generation: 3, Marks: marks{a: "2"}}}, nil},
		"several contents may share a template change":                         {map[config][]string{a: {"0", "1", "2"}, b: {"0", "1"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "2", b: "1"}}}, nil},
		"who has the old content again before anything rolled needs no mark":   {map[config][]string{a: {"0", "1", "0"}}, []sight{{Generation: 1, Marks: marks{}}}, nil},
		"each of them is a new content":                                        {map[config][]string{a: {"0", "1", "0"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "1"}}, {Generation: 3, Marks: marks{a: "0"}}}, nil},
		"the newest content never came":                                        {map[config][]string{a: {"0", "1"}}, []sight{{Generation: 1, Marks: marks{}}}, []string{lost}},
		"an older one does not stand for it":                                   {map[config][]string{a: {"0", "1", "2"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "1"}}}, []string{lost}},
		"the old content is not what the template says":                        {map[config][]string{a: {"0", "1", "0"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "1"}}}, []string{lost}},
		"two template changes for one content, although nobody saw the first":  {map[config][]string{a: {"0", "1"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 3, Marks: marks{a: "1"}}}, []string{doubled}},
		"a template change that changes no mark, below the number of contents": {map[config][]string{a: {"0", "1", "2", "3"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "3"}}, {Generation: 3, Marks: marks{a: "3"}}}, []string{doubled}},
		"a stale decision came after a newer one":                              {map[config][]string{a: {"0", "1", "2"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "2"}}, {Generation: 3, Marks: marks{a: "1"}}}, []string{lost, stale}},
		"no content ever had that hash":                                        {map[config][]string{a: {"0", "1", "2"}}, []sight{{Generation: 1, Marks: marks{}}, {Generation: 2, Marks: marks{a: "x"}}, {Generation: 3, Marks: marks{a: "2"}}}, []string{stale}},
		"what others do to the rest of the spec is no template change":         {map[config][]string{a: {"0", "1"}}, []sight{{Generation: 1}, {Generation: 2, Others: 1}, {Generation: 3, Others: 1, Marks: marks{a: "1"}}, {Generation: 4, Others: 2, Marks: marks{a: "1"}}}, nil},
		"what others do does not hide a template change too many":              {map[config][]string{a: {"0", "1", "2"}}, []sight{{Generation: 2, Others: 1}, {Generation: 3, Others: 1, Marks: marks{a: "2"}}, {Generation: 4, Others: 1, Marks: marks{a: "2"}}}, []string{doubled}},
		"a workload that nobody saw proves nothing":                            {map[config][]string{a: {"0"}}, nil, []string{lost}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range judge("w", tc.contents, tc.seen) {
				got = append(got, f.Kind)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCallers: a process may ask a pod twice for a change, and another one only once the first has ended.
func TestCallers(t *testing.T) {
	const running, ended = 1, 2
	runs := func(process int) bool { return process != ended }
	for name, c := range map[string]struct {
		calls []int
		wrong int
	}{
		"twice": {[]int{running, running}, 0}, "a successor": {[]int{ended, ended, running, running}, 0},
		"three times": {[]int{running, running, running}, 1}, "two at a time": {[]int{running, 3}, 1}, "one that has a successor": {[]int{ended, running, ended}, 1},
	} {
		var last caller
		wrong := 0
		for _, process := range c.calls {
			next, says := last.again(process, runs)
			if last = next; says != "" {
				wrong++
			}
		}
		if wrong != c.wrong {
			t.Errorf("%s: %d calls are wrong, want %d", name, wrong, c.wrong)
		}
	}
}
