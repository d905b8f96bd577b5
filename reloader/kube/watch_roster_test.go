package kube

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// said is what a roster has called, in order: "+" for track with what it was joined with, "-" for forget.
type said []string

func (s *said) roster() *roster {
	return newRoster(func(w *workload.Workload) {
		line := "+" + w.Kind + " " + w.Namespace
		if w.Via != nil {
			line += fmt.Sprintf(" via %d", w.Via.Generation)
		}
		*s = append(*s, line)
	}, func(ref reloader.WorkloadRef) { *s = append(*s, "-"+ref.Kind+" "+ref.Namespace) })
}

func deployment(namespace string, generation int64) *workload.Workload {
	return &workload.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Generation: generation}, Kind: "Deployment"}
}

func rollout(namespace string) *workload.Workload {
	of := deployment(namespace, 0).Ref()
	return &workload.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Kind: "Rollout", TemplateOf: &of}
}

func TestRoster(t *testing.T) {
	ownTemplate := rollout("a")
	ownTemplate.TemplateOf, ownTemplate.Generation = nil, 1
	cases := map[string]struct {
		reason string
		steps  func(r *roster)
		want   said
	}{
		"rollout first": {
			"it is tracked as it is until the Deployment comes",
			func(r *roster) { r.put(rollout("a")); r.put(deployment("a", 1)) },
			said{"+Rollout a", "+Deployment a", "+Rollout a via 1"},
		},
		"deployment first": {
			"it is joined at once",
			func(r *roster) { r.put(deployment("a", 1)); r.put(rollout("a")) },
			said{"+Deployment a", "+Rollout a via 1"},
		},
		"deployment changes": {
			"so does what the Rollout runs",
			func(r *roster) { r.put(rollout("a")); r.put(deployment("a", 1)); r.put(deployment("a", 2)) },
			said{"+Rollout a", "+Deployment a", "+Rollout a via 1", "+Deployment a", "+Rollout a via 2"},
		},
		"deployment goes": {
			"the Rollout is again as it is",
			func(r *roster) { r.put(deployment("a", 1)); r.put(rollout("a")); r.drop(deployment("a", 1).Ref()) },
			said{"+Deployment a", "+Rollout a via 1", "-Deployment a", "+Rollout a"},
		},
		"rollout goes": {
			"the Deployment's changes are its own",
			func(r *roster) {
				r.put(deployment("a", 1))
				r.put(rollout("a"))
				r.drop(rollout("a").Ref())
				r.put(deployment("a", 2))
			},
			said{"+Deployment a", "+Rollout a via 1", "-Rollout a", "+Deployment a"},
		},
		"reference goes": {
			"a Rollout that got a template of its own does not follow the Deployment",
			func(r *roster) {
				r.put(deployment("a", 1))
				r.put(rollout("a"))
				r.put(ownTemplate)
				r.put(deployment("a", 2))
			},
			said{"+Deployment a", "+Rollout a via 1", "+Rollout a", "+Deployment a"},
		},
		"pods come and go": {
			"nobody hears of what says nothing new, also if the Rollout is another version of itself",
			func(r *roster) {
				r.put(deployment("a", 1))
				r.put(rollout("a"))
				for _, w := range []*workload.Workload{deployment("a", 1), rollout("a")} {
					w.ResourceVersion = "8"
					r.put(w)
				}
				r.put(deployment("a", 2))
			},
			said{"+Deployment a", "+Rollout a via 1", "+Deployment a", "+Rollout a via 2"},
		},
		"progress": {
			"that is something new",
			func(r *roster) {
				w := deployment("a", 1)
				w.Progress.Phase = workload.RolledOut
				r.put(deployment("a", 1))
				r.put(w)
				r.put(w)
			},
			said{"+Deployment a", "+Deployment a"},
		},
		"another namespace": {
			"a Deployment of the same name elsewhere is another one",
			func(r *roster) { r.put(rollout("a")); r.put(deployment("b", 1)) },
			said{"+Rollout a", "+Deployment b"},
		},
		"kind goes": {
			"with all its workloads, and no other",
			func(r *roster) {
				r.put(deployment("a", 1))
				r.put(rollout("b"))
				r.dropKind("Rollout")
				r.put(deployment("b", 1))
			},
			said{"+Deployment a", "+Rollout b", "-Rollout b", "+Deployment b"},
		},
		"not admitted": {
			"nobody hears of it",
			func(r *roster) { r.selective(); r.put(deployment("a", 1)); r.drop(deployment("a", 1).Ref()) },
			nil,
		},
		"admitted later": {
			"it is tracked as it is then",
			func(r *roster) {
				r.selective()
				r.put(deployment("a", 1))
				r.put(deployment("b", 1))
				r.admit("b")
				r.admit("b")
			},
			said{"+Deployment b"},
		},
		"admitted before": {
			"it is tracked when it comes",
			func(r *roster) { r.selective(); r.admit("a"); r.put(deployment("a", 1)) },
			said{"+Deployment a"},
		},
		"expelled": {
			"once, and nobody hears of what comes after",
			func(r *roster) {
				r.selective()
				r.admit("a")
				r.put(deployment("a", 1))
				r.expel("a")
				r.expel("a")
				r.put(deployment("a", 2))
				r.put(rollout("a"))
			},
			said{"+Deployment a", "-Deployment a"},
		},
		"expelled before it came": {
			"there is nothing to forget",
			func(r *roster) { r.selective(); r.expel("a"); r.put(deployment("a", 1)) },
			nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got said
			c.steps(got.roster())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestAdmittedWorkloadsAreJoined(t *testing.T) {
	var got said
	r := got.roster()
	r.selective()
	r.put(rollout("a"))
	r.put(deployment("a", 1))
	r.admit("a")
	slices.Sort(got)
	if diff := cmp.Diff(said{"+Deployment a", "+Rollout a via 1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRosterKeepsNothingOfWhatIsGone(t *testing.T) {
	var got said
	r := got.roster()
	r.put(rollout("a"))
	r.put(deployment("a", 1))
	r.drop(rollout("a").Ref())
	r.drop(deployment("a", 1).Ref())
	if len(r.known) != 0 || len(r.runners) != 0 {
		t.Errorf("known %v, runners %v", r.known, r.runners)
	}
}
