package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
)

// summary counts workloads: all, and those of which something is to be told.
type summary struct {
	Workloads int `json:"workloads"`
	Rolls     int `json:"rolls"`
	Unknown   int `json:"unknown"`
	Conflicts int `json:"conflicts"`
	Typos     int `json:"typos"`
	Leftovers int `json:"leftovers"`
}

func (c *census) summary() summary {
	s := summary{Workloads: len(c.reports)}
	for i := range c.reports {
		r := &c.reports[i]
		for _, counted := range []struct {
			yes  bool
			into *int
		}{
			{r.Rolls, &s.Rolls},
			{r.Unknown, &s.Unknown},
			{r.Needs(adoption.Conflict), &s.Conflicts},
			{r.Needs(adoption.Typo), &s.Typos},
			{r.Needs(adoption.Leftover), &s.Leftovers},
		} {
			if counted.yes {
				*counted.into++
			}
		}
	}
	return s
}

func compareRefs(a, b reloader.WorkloadRef) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

func (c *census) answer() (answer, error) {
	items := c.reports
	if items == nil {
		items = []adoption.Report{}
	}
	body, err := json.Marshal(map[string]any{"items": items, "summary": c.summary(), "warnings": append([]string{}, c.warnings...)})
	a := answer{body: body, show: c.show}
	for i := range c.reports {
		a.names = append(a.names, nameOf(c.reports[i].Workload))
	}
	return a, err
}

func nameOf(w reloader.WorkloadRef) string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// censusColumns are those of the table; people who want to know more ask for the wide ones.
var censusColumns = []column{
	{name: "NAMESPACE"},
	{name: "WORKLOAD"},
	{name: "TOOLS"},
	{name: "CONFIGS"},
	{name: "MOVING IN"},
	{name: "DIALECTS", wide: true},
	{name: "MARKS", wide: true},
	{name: "STATES", wide: true},
}

// show writes a table of the workloads, what is to be sorted out, and what it comes to.
func (c *census) show(w io.Writer, wide, headers, colours bool) error {
	t := table{columns: censusColumns}
	for i := range c.reports {
		t.add(censusRow(&c.reports[i])...)
	}
	if err := t.write(w, wide, headers, colours); err != nil || !headers {
		return err
	}
	l := newLines(w, colours)
	l.addf("")
	for i := range c.reports {
		r := &c.reports[i]
		for _, f := range r.Findings {
			l.add(cell{"! ", warn}, cell{nameOf(r.Workload) + ": ", bold}, text(string(f.Kind)+": "+f.Message))
			l.add(text("    → " + f.Mend))
		}
		c.missed(l, r)
	}
	s := c.summary()
	l.addf("%s; moving in rolls %d; %d with conflicts, %d with typos, %d with leftovers, %d of which not all could be read",
		count(s.Workloads, "workload"), s.Rolls, s.Conflicts, s.Typos, s.Leftovers, s.Unknown)
	return l.err
}

// missed tells for which configs moving in rolls a workload.
func (c *census) missed(l *lines, r *adoption.Report) {
	for _, f := range r.Configs {
		if f.State == adoption.Missed {
			l.add(cell{"✗ ", bad}, cell{nameOf(r.Workload) + ": ", bold}, text("it rolls once: its mark by "+f.Dialect+" is not of the present content of "+string(f.Config.Kind)+"/"+f.Config.Name))
			l.add(text("    → let the tool roll it before, or take the roll for the change that was missed"))
		}
	}
}

func censusRow(r *adoption.Report) []cell {
	var tools, marks, states []string
	for _, t := range r.Tools {
		tools = append(tools, t.Dialect)
		for _, m := range t.Marks {
			marks = append(marks, m.Name)
		}
	}
	for _, f := range r.Configs {
		states = append(states, string(f.Config.Kind)+"/"+f.Config.Name+"="+string(f.State))
	}
	does := cell{"rolls nothing", good}
	switch {
	case r.Rolls:
		does = cell{"rolls it once", bad}
	case r.Unknown:
		does = cell{"not known", warn}
	}
	return []cell{
		text(r.Workload.Namespace), text(r.Workload.Kind + "/" + r.Workload.Name), text(orDash(strings.Join(tools, ","))), text(strconv.Itoa(len(r.Configs))), does,
		text(orDash(strings.Join(r.Dialects, ","))), text(orDash(strings.Join(marks, ","))), text(orDash(strings.Join(states, ","))),
	}
}

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
