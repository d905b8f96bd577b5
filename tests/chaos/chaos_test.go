package main

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestOracle gives Reroll tasks that it cannot do, and a second hand that rolls next to it: who judges must say so.
func TestOracle(t *testing.T) {
	r, err := run(t.Context(), options{
		Seed: 1, Time: 3 * time.Second, Rate: 15, Configs: 24, Workloads: 18, Window: 100 * time.Millisecond, Weather: &weather{Drop: 1}, Meddle: rollTwice,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", r)
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
