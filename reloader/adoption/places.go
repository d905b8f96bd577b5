package adoption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// keys finds annotations that nobody reads, and those that nobody reads where they are.
func (s inspection) keys() []Finding { return append(s.strange(s.w), s.misplaced(s.w)...) }

// strange finds keys that are no tool's, and look as if they were meant for one. Those of Reroll's own domain on workloads are told as problems.
func (v View) strange(w *workload.Workload) []Finding {
	var found []Finding
	on := func(place string, annotations map[string]string) {
		for _, key := range sortedKeys(annotations) {
			by := owner(v.All, key)
			if v.All.KeepsAnnotation(key) || by != nil && by.Name == "reroll" {
				continue
			}
			like, misspelt := near.Word(key, keysOf(v.All))
			if by == nil && !misspelt {
				continue
			}
			f := Finding{Typo, fmt.Sprintf("%s%s is no annotation of any tool", key, place), "take it away"}
			if by != nil {
				f.Message = fmt.Sprintf("%s%s is no annotation that %s has", key, place, by.Name)
			}
			if misspelt {
				f.Mend = "did you mean " + like + "?"
			} else if by != nil && slices.Contains(by.Off, key) {
				f.Mend = "make it a label: as an annotation it says nothing"
			}
			found = append(found, f)
		}
	}
	on("", w.Annotations)
	on(" of the pod template", w.Template.Annotations)
	return found
}

// misplaced finds keys on objects where nobody reads them.
func (v View) misplaced(w *workload.Workload) []Finding {
	var found []Finding
	for _, d := range v.All {
		for _, c := range d.Clauses {
			_, here := w.Annotations[c.Key]
			_, there := w.Template.Annotations[c.Key]
			elsewhere := slices.ContainsFunc(d.Clauses, func(o dialect.Clause) bool { return o.Key == c.Key && o.On != c.On })
			switch {
			case c.On == dialect.OnWorkload && there:
				found = append(found, Finding{Typo, c.Key + " says nothing on a pod template", "write it on the workload itself"})
			case c.On == dialect.OnConfig && (here || there) && !elsewhere:
				found = append(found, Finding{Typo, c.Key + " says nothing on a workload", "write it on the config"})
			}
			if _, label := w.Labels[c.Key]; label {
				found = append(found, Finding{Typo, c.Key + " says nothing as a label", "make it an annotation"})
			}
		}
	}
	return unique(found)
}

// leftovers finds what tools write for a moment and have to take back, which they cannot once they are gone.
func leftovers(w *workload.Workload) []Finding {
	var found []Finding
	if scheduler, ok := w.Annotations[waveDisabled]; ok || strategy.Unscheduled(w) {
		found = append(found, Finding{
			Leftover, "Wave keeps its pods from being scheduled, until every config exists that it needs",
			fmt.Sprintf("Reroll sets schedulerName of the pod template back to %q as soon as it runs; if it is that already, take away %s", cmp.Or(scheduler, corev1.DefaultSchedulerName), waveDisabled),
		})
	}
	if slices.Contains(w.Finalizers, waveFinalizer) {
		found = append(found, Finding{
			Leftover, "Wave up to v0.6 has left its finalizer, so that the workload cannot be deleted once Wave is gone",
			fmt.Sprintf(`kubectl --namespace %s patch %s %s --patch '{"metadata":{"$deleteFromPrimitiveList/finalizers":[%q]}}'`,
				w.Namespace, strings.ToLower(w.Kind), w.Name, waveFinalizer),
		})
	}
	if _, ok := w.Annotations[sapToken]; ok {
		found = append(found, Finding{
			Leftover, "pod-reloader has left the hash that it expects on the workload itself: its webhook refuses every later write of it",
			"take away the annotation " + sapToken + " of the workload; the one of the pod template stays",
		})
	}
	return found
}

func unique(found []Finding) []Finding {
	var once []Finding
	for _, f := range found {
		if !slices.Contains(once, f) {
			once = append(once, f)
		}
	}
	return once
}
