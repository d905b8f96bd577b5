package cli

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
)

// summary counts workloads: all, and those with something to report.
type summary struct {
	Workloads int `json:"workloads"`
	Rolls     int `json:"rolls"`
	Unknown   int `json:"unknown"`
	Conflicts int `json:"conflicts"`
	Typos     int `json:"typos"`
	Leftovers int `json:"leftovers"`
}

func (c *census) summary() summary {
	s, one := summary{Workloads: len(c.reports)}, map[bool]int{true: 1}
	for i := range c.reports {
		r := &c.reports[i]
		s.Rolls += one[r.Rolls]
		s.Unknown += one[r.Unknown]
		s.Conflicts += one[r.Has(adoption.Conflict)]
		s.Typos += one[r.Has(adoption.Typo)]
		s.Leftovers += one[r.Has(adoption.Leftover)]
	}
	return s
}

func compareRefs(a, b reloader.WorkloadRef) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

func (c *census) answer() answer {
	a := answer{body: map[string]any{"items": c.reports, "summary": c.summary(), "warnings": c.warnings}, show: c.show}
	for i := range c.reports {
		a.names = append(a.names, nameOf(c.reports[i].Workload))
	}
	return a
}

func nameOf(w reloader.WorkloadRef) string { return workloadRef("", w).String() }

// censusColumns are those of the table; -o wide adds the wide ones.
var censusColumns = columnsOf("NAMESPACE, WORKLOAD, TOOLS, CONFIGS, FIRST START, +DIALECTS, +MARKS, +STATES")

// show writes a table of the workloads, what needs attention, and a summary.
func (c *census) show(l *lines, wide bool) {
	var rows []row
	for i := range c.reports {
		rows = append(rows, censusRow(&c.reports[i]))
	}
	l.table(censusColumns, rows, wide, nil)
	l.add()
	var found findings
	for i := range c.reports {
		r := &c.reports[i]
		for _, f := range r.Findings {
			found.add(nameOf(r.Workload), careful, string(f.Kind)+": "+f.Message, f.Fix)
		}
		for _, f := range r.Configs {
			if f.State == adoption.Missed {
				found.add(nameOf(r.Workload), wrong, "rolls once: its "+f.Dialect+" mark differs from the present content of "+string(f.Config.Kind)+"/"+f.Config.Name,
					"roll it with the tool first, or accept this roll: it applies a change that the tool missed")
			}
		}
	}
	found.show(l)
	s := c.summary()
	l.addf("%s; the first start rolls %d of them. Workloads with conflicts: %d, with typos: %d, with remains of another tool: %d. Workloads that could not be examined: %d",
		count(s.Workloads, "workload"), s.Rolls, s.Conflicts, s.Typos, s.Leftovers, s.Unknown)
}

func censusRow(r *adoption.Report) row {
	var tools, marks, states []string
	for _, t := range r.Tools {
		tools, marks = append(tools, t.Dialect), append(marks, t.Marks...)
	}
	for _, f := range r.Configs {
		states = append(states, string(f.Config.Kind)+"/"+f.Config.Name+"="+string(f.State))
	}
	does := cell{"rolls nothing", good}
	switch {
	case r.Rolls:
		does = cell{"rolls it once", bad}
	case r.Unknown:
		does = cell{"unknown", alert}
	}
	return row{cells: []cell{
		text(r.Workload.Namespace), text(r.Workload.Kind + "/" + r.Workload.Name), text(cmp.Or(strings.Join(tools, ","), dash)),
		text(strconv.Itoa(len(r.Configs))), does,
		text(cmp.Or(strings.Join(r.Dialects, ","), dash)), text(cmp.Or(strings.Join(marks, ","), dash)), text(cmp.Or(strings.Join(states, ","), dash)),
	}}
}
