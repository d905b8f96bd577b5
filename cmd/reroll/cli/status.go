package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

func statusCommand(g *globals) *cobra.Command {
	var judge bool
	cmd := take(&cobra.Command{
		Use:   "status",
		Short: "Show whether all is well, and what waits or needs attention",
		Long: "Show whether all is well: the clusters, what holds rolls back, and the workloads that wait or need\nattention, each with the " +
			"next command. -o wide shows all of them, and -o name their names.",
		Example: "  reroll status\n  reroll status -n shop\n  reroll status --exit-code >/dev/null || echo 'needs attention'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.asking(cmd, func(s *session) error {
				well, err := s.status()
				if err == nil && judge && !well {
					return errAnswer
				}
				return err
			})
		},
	}, takesAsk, takesScope)
	cmd.Flags().BoolVar(&judge, "exit-code", false, "exit with 1 if a cluster or a workload needs attention, or that is not known")
	return cmd
}

// status prints how all is, and reports whether nothing needs attention and the answer is complete.
func (s *session) status() (well bool, err error) {
	var self view.Self
	if _, err := s.read(s, path("self"), nil, &self); err != nil {
		return false, err
	}
	if err := s.checkCluster(s.cluster); err != nil {
		return false, err
	}
	clusters, err := s.clusters(s.cluster)
	if err != nil {
		return false, err
	}
	workloads, err := s.those("unsettled")
	if err != nil {
		return false, err
	}
	warnings := union(clusters.warnings, workloads.warnings)
	warn(s.cmd, warnings)
	well = len(warnings) == 0 && len(clusters.items) > 0 &&
		!slices.ContainsFunc(clusters.items, func(c view.Cluster) bool { return c.Health != verdict.Healthy }) &&
		!slices.ContainsFunc(workloads.items, func(w view.Workload) bool { return w.Verdict.NeedsAttention })
	a := answer{body: map[string]any{"server": s.base.Redacted(), "version": self.Version, "clusters": clusters.page(), "workloads": workloads.page()}}
	several := len(clusters.items) > 1
	for _, w := range workloads.items {
		a.names = append(a.names, nameAmong(several, w))
	}
	a.show = func(l *lines, wide bool) {
		if wide {
			l.add(text("Reroll "+self.Version+" at "), cell{s.base.Redacted(), bold})
		}
		if len(clusters.items) == 0 && len(warnings) == 0 {
			l.add(text("No cluster is on record: no dispatcher has published its status yet."))
			l.next("", s.typed(s.cmd, "reroll check"))
		}
		for _, c := range clusters.items {
			s.showCluster(l, c, workloads.items)
		}
		s.showWaiting(l, workloads.items, several, wide)
	}
	return well, s.print(s.cmd, a)
}

// those asks for the workloads that a parameter of the API chooses, those that need attention first.
func (s *session) those(which string) (listing[view.Workload], error) {
	q := url.Values{which: {"true"}}
	set(q, "cluster", s.cluster)
	set(q, "namespace", s.namespace)
	l, err := list[view.Workload](s, s.client, "workloads", q, 0)
	rank := func(w view.Workload) int { return slices.Index(verdict.States, w.Verdict.State) }
	slices.SortStableFunc(l.items, func(a, b view.Workload) int { return rank(a) - rank(b) })
	return l, err
}

func nameAmong(several bool, w view.Workload) string {
	if !several {
		return workloadRef("", w.Workload).String()
	}
	return workloadRef(w.Cluster, w.Workload).String()
}

// showCluster says in a line how a cluster is, and below what is wrong with it and what holds its rolls back.
func (s *session) showCluster(l *lines, c view.Cluster, workloads []view.Workload) {
	marks := map[verdict.Health]string{verdict.Healthy: "✓", verdict.Degraded: "!", verdict.Away: "✗", verdict.Unknown: "?"}
	health := healthCell(c.Health)
	health.text = " " + marks[c.Health] + " " + strings.ToLower(health.text)
	waits, attention := 0, 0
	for _, w := range workloads {
		switch {
		case w.Cluster != c.Cluster:
		case w.Verdict.NeedsAttention:
			attention++
		default:
			waits++
		}
	}
	line := []cell{{c.Cluster, bold}, health, text(" · " + count(c.Workloads, "workload"))}
	if waits > 0 {
		line = append(line, cell{fmt.Sprintf(" · %d waiting", waits), alert})
	}
	if attention > 0 {
		need := map[bool]string{true: "needs attention", false: "need attention"}[attention == 1]
		line = append(line, cell{fmt.Sprintf(" · %d %s", attention, need), bad})
	}
	l.add(line...)
	for _, p := range append(slices.Clip(c.Problems), c.HoldsBack...) {
		l.add(cell{"  ! ", alert}, text(p.Message))
		l.next("    ", s.typed(s.cmd, p.Next))
	}
}

// waitingShown is how many workloads status lists without -o wide.
const waitingShown = 20

func (s *session) showWaiting(l *lines, workloads []view.Workload, several, wide bool) {
	for i, w := range workloads {
		if i == waitingShown && !wide {
			l.addf("  and %d more: reroll status -o wide", len(workloads)-i)
			return
		}
		age := ""
		if w.Hold != nil {
			age = " for " + since(s.now, w.Hold.Since)
		}
		l.add(text("  "), verdictCell(w.Verdict), text(" "+nameAmong(several, w)+age+": "+w.Verdict.Message))
		l.next("    ", s.typed(s.cmd, w.Verdict.Next))
	}
}

func whom(namespace, selector string) string {
	which, where := "all workloads", "everywhere"
	if selector != "" {
		which = "workloads with " + selector
	}
	if namespace != "" {
		where = "in " + namespace
	}
	return which + " " + where
}

func until(t time.Time) string {
	if t.IsZero() {
		return " until resumed"
	}
	return " until " + exactly(t)
}
