package adoption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// FindingKind is the kind of a Finding.
type FindingKind string

// The kinds of finding.
const (
	// Conflict: several tools roll the workload.
	Conflict FindingKind = "Conflict"
	// Typo: a name or a key is probably not what was meant.
	Typo FindingKind = "Typo"
	// Leftover: a tool has written something for a moment, and must remove it itself.
	Leftover FindingKind = "Leftover"
)

// Finding is something wrong with one workload, and how to fix it.
type Finding struct {
	Kind    FindingKind `json:"kind"`
	Message string      `json:"message"`
	Fix     string      `json:"fix"`
}

// Has reports whether r has a finding of that kind.
func (r *Report) Has(kind FindingKind) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == kind })
}

// Mistakes returns what is wrong with the annotations of w, as far as w alone shows it.
func (v View) Mistakes(w *workload.Workload) []Finding {
	plan := v.Dialects.Compile(w)
	var found []Finding
	for _, p := range plan.Problems {
		found = append(found, Finding{Typo, p, "correct the annotation"})
	}
	return append(found, v.keys(w)...)
}

func (s inspection) findings() []Finding {
	found := []Finding{}
	if names := slices.DeleteFunc(s.enabled(), func(name string) bool { return name == own }); len(names) > 1 {
		found = append(found, Finding{
			Conflict, "the annotations of " + strings.Join(names, " and ") + " ask for rolls: each tool rolls for itself, and Reroll rolls once and writes the marks of all",
			"keep the annotations of one of them when the tools are gone",
		})
	}
	return append(found, slices.Concat(s.absent(), s.Mistakes(s.Workload), leftovers(s.Workload))...)
}

// absent finds names in lists of configs that do not exist.
func (s inspection) absent() (found []Finding) {
	for _, c := range s.plan.Names {
		if !s.Configs[c].Absent || s.Workload.Template.References.Get(c) != nil {
			continue
		}
		name, local := c.String(), c.Namespace == s.Workload.Namespace
		if local {
			name = string(c.Kind) + "/" + c.Name
		}
		clause := s.plan.Decide(dialect.ConfigMeta{Config: c}).Clause
		f := Finding{Typo, fmt.Sprintf("%s names %s, which does not exist", clause, name), "create it, or correct the name"}
		if like, ok := near.Word(c.Name, s.Names[c.Kind]); ok && local {
			f.Fix = "did you mean " + like + "?"
		}
		found = append(found, f)
	}
	return found
}

// keys finds annotations of w that are not any tool's, and keys where they mean nothing. Those of Reroll's own domain are among the problems.
func (v View) keys(w *workload.Workload) (found []Finding) {
	for _, on := range []struct {
		annotations map[string]string
		place       string
	}{{w.Annotations, ""}, {w.Template.Annotations, " of the pod template"}} {
		for _, key := range sortedKeys(on.annotations) {
			d := owner(v.All, key)
			like, misspelt := near.Word(key, keysOf(v.All))
			if v.All.KeepsAnnotation(key) || d == nil && !misspelt || d != nil && (d.Name == own || slices.Contains(d.More, key)) {
				continue
			}
			f := Finding{Typo, key + on.place + " is not an annotation of any tool", "remove it"}
			switch {
			case misspelt:
				f.Fix = "did you mean " + like + "?"
			case d != nil && slices.Contains(d.Off, key):
				f.Fix = "make it a label: it means nothing as an annotation"
			}
			found = append(found, f)
		}
	}
	for _, d := range v.All {
		for _, c := range d.Clauses {
			_, here := w.Annotations[c.Key]
			_, there := w.Template.Annotations[c.Key]
			_, label := w.Labels[c.Key]
			elsewhere := slices.ContainsFunc(d.Clauses, func(o dialect.Clause) bool { return o.Key == c.Key && o.On != c.On })
			var f Finding
			switch {
			case c.On == dialect.OnWorkload && there:
				f = Finding{Typo, c.Key + " means nothing on a pod template", "write it on the workload itself"}
			case c.On == dialect.OnConfig && (here || there) && !elsewhere:
				f = Finding{Typo, c.Key + " means nothing on a workload", "write it on the config"}
			case label:
				f = Finding{Typo, c.Key + " means nothing as a label", "make it an annotation"}
			}
			if f.Kind != "" && !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	return found
}

// leftovers finds what tools write for a moment and cannot remove once they are gone.
func leftovers(w *workload.Workload) (found []Finding) {
	if scheduler, ok := w.Annotations[dialect.SchedulingKey]; ok || dialect.Unscheduled(w) {
		found = append(found, Finding{
			Leftover, "Wave keeps its pods unscheduled until every config that it needs exists",
			fmt.Sprintf("Reroll sets schedulerName of the pod template back to %q when it starts; if it has that value already, remove %s",
				cmp.Or(scheduler, corev1.DefaultSchedulerName), dialect.SchedulingKey),
		})
	}
	if _, ok := w.Annotations[dialect.SAPHashKey]; ok {
		found = append(found, Finding{
			Leftover, "pod-reloader has left the hash that it expects on the workload itself: its webhook refuses every later write",
			"remove the annotation " + dialect.SAPHashKey + " of the workload; that of the pod template stays",
		})
	}
	return found
}
