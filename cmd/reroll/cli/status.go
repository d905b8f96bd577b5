package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// statusReport is the answer of reroll status: what three questions to the API were answered with.
type statusReport struct {
	Server   string          `json:"server"`
	Version  string          `json:"version"`
	Clusters json.RawMessage `json:"clusters"`
	// Workloads are those that wait or need attention.
	Workloads json.RawMessage `json:"workloads"`
}

// statusCommand tells in one look whether all is well.
func statusCommand(version string) *cobra.Command {
	q := &question{version: version}
	var judge bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether all is well: clusters, freezes and pauses, and the workloads that wait or need attention",
		Long: "Show whether all is well: clusters, freezes and pauses, and the workloads that wait or need attention, each with the next command. With\n" +
			"--exit-code it ends with code 0 if all is well, 1 if a cluster is unhealthy or a workload needs attention, and 3 if that could not be found\n" +
			"out: the server was not reached, or warns that its answer may lack something. -o wide has a table of these workloads, and -o name their names.",
		Example: "  reroll status\n  reroll status --exit-code >/dev/null || echo look at it",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			well, complete, err := q.status(cmd)
			switch {
			case !judge:
				return err
			case err == nil && !well:
				return errAnswer
			case err == nil && !complete:
				err = errors.New("whether all is well is not known: the warnings say why")
			}
			return judged(err)
		},
	}
	q.bind(cmd, allFormats...)
	cmd.Flags().BoolVar(&judge, "exit-code", false, "end with code 1 if a cluster is unhealthy, or a workload needs attention")
	return cmd
}

// status shows how all is. It reports whether nobody has to look as far as the server knows, and whether it knows of all.
func (q *question) status(cmd *cobra.Command) (well, complete bool, err error) {
	s, err := q.open(cmd)
	if err != nil {
		return false, false, err
	}
	self, err := s.self()
	if err != nil {
		return false, false, err
	}
	report := statusReport{Server: s.base.Redacted(), Version: self.Version}
	clusters, err := list[view.Cluster](s, s.client, "/api/v1/clusters", nil, 0, silently)
	if err != nil {
		return false, false, err
	}
	workloads, err := s.unsettled()
	if err != nil {
		return false, false, err
	}
	report.Clusters, report.Workloads = clusters.body(), workloads.body()
	body, err := json.Marshal(report)
	if err != nil {
		return false, false, err
	}
	warnings := union(clusters.warnings, workloads.warnings)
	s.warn(warnings)
	complete = len(warnings) == 0
	well = allWell(clusters.items, workloads.items) && (len(clusters.items) > 0 || !complete)
	h := waitingList{workloads.items, len(clusters.items) > 1}
	return well, complete, q.print(cmd.OutOrStdout(), answer{
		body: body, names: h.names(), show: func(w io.Writer, wide, headers, colours bool) error {
			l := newLines(w, colours)
			if wide {
				l.add(text("Reroll "+self.Version+" at "), cell{report.Server, bold})
			}
			for _, c := range clusters.items {
				h.writeCluster(l, c)
			}
			if wide && len(h.workloads) > 0 {
				return errors.Join(l.err, h.table(s.now).write(w, true, headers, colours))
			}
			h.write(l, s.now)
			return l.err
		},
	})
}

// self asks who the server takes the user for, and which build answers.
func (s *session) self() (self view.Self, err error) {
	_, err = s.read(s, "/api/v1/self", nil, &self)
	return self, err
}

// unsettled asks for the workloads that wait or need attention, the latter first.
func (s *session) unsettled() (listing[view.Workload], error) {
	l, err := list[view.Workload](s, s.client, "/api/v1/workloads", url.Values{"unsettled": {"true"}}, 0, silently)
	slices.SortStableFunc(l.items, func(a, b view.Workload) int { return rankOf(a) - rankOf(b) })
	return l, err
}

// rankOf is the place of the state of a workload among all states, the worst first.
func rankOf(w view.Workload) int { return slices.Index(verdict.States, w.Verdict.State) }

// waitingList is the workloads that wait or need attention. Their clusters are named if there are several.
type waitingList struct {
	workloads []view.Workload
	several   bool
}

func (h waitingList) name(w view.Workload) string {
	return refAmong(h.several, w.Cluster, w.Workload).String()
}

func (h waitingList) names() (names []string) {
	for _, w := range h.workloads {
		names = append(names, h.name(w))
	}
	return names
}

// healthMarks stand for the health of a cluster.
var healthMarks = map[verdict.Health]string{verdict.Healthy: "✓", verdict.Degraded: "!", verdict.Away: "✗", verdict.Unknown: "?"}

// writeCluster says in a line how a cluster is, and below what is wrong with it and what holds its reloads back. What waits is counted by its
// workloads: they are newer than the status of the cluster.
func (h waitingList) writeCluster(l *lines, c view.Cluster) {
	health := healthCell(c.Health)
	health.text = " " + healthMarks[c.Health] + " " + strings.ToLower(health.text)
	waits, attention := 0, 0
	for _, w := range h.workloads {
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
		line = append(line, cell{fmt.Sprintf(" · %d waiting", waits), warn})
	}
	if attention > 0 {
		need := " need attention"
		if attention == 1 {
			need = " needs attention"
		}
		line = append(line, cell{fmt.Sprint(" · ", attention, need), bad})
	}
	l.add(line...)
	writeBrakes(l, c)
	if c.Storage != "" {
		l.add(text("  " + c.Storage))
	}
}

// waitingShown is how many workloads status names.
const waitingShown = 20

func (h waitingList) write(l *lines, now time.Time) {
	for i, w := range h.workloads {
		if i == waitingShown {
			l.addf("  and %d more: reroll status -o wide", len(h.workloads)-i)
			return
		}
		age := ""
		if w.Hold != nil {
			age = " for " + since(now, w.Hold.Since)
		}
		parts := []cell{text("  "), verdictCell(w.Verdict), text(" " + h.name(w) + age + ": " + w.Verdict.Message)}
		if w.Verdict.Next != "" {
			parts = append(parts, text(" Next: "), cell{w.Verdict.Next, bold})
		}
		l.add(parts...)
	}
}

// table shows all of them.
func (h waitingList) table(now time.Time) *table {
	t := &table{columns: []column{{name: "WORKLOAD"}, {name: "STATE"}, {name: "REASON"}, {name: "FOR"}, {name: "DUE"}, {name: "ATTEMPTS"}, {name: "WAITS FOR"}, {name: "LAST RELOAD"}, {name: "MESSAGE"}, {name: "NEXT"}}}
	for _, w := range h.workloads {
		var changes []string
		for _, d := range w.Edges {
			changes = union(changes, slices.DeleteFunc([]string{d.Pending}, func(id string) bool { return id == "" }))
		}
		age, due, attempts := dash, dash, dash
		if w.Hold != nil {
			age, due, attempts = since(now, w.Hold.Since), exactly(w.Hold.Due), fmt.Sprint(w.Hold.Attempts)
		}
		t.add(text(h.name(w)), cell{string(w.Verdict.State), stateStyle(w.Verdict.State)}, text(orDash(string(w.Verdict.Reason))), text(age), text(due), text(attempts),
			text(orDash(strings.Join(changes, ","))), text(orDash(w.LastReload)), text(w.Verdict.Message), text(orDash(w.Verdict.Next)))
	}
	return t
}

// allWell reports whether every cluster that is known is healthy, and no workload needs attention.
func allWell(clusters []view.Cluster, workloads []view.Workload) bool {
	for _, c := range clusters {
		if c.Health != verdict.Healthy {
			return false
		}
	}
	return !slices.ContainsFunc(workloads, func(w view.Workload) bool { return w.Verdict.NeedsAttention })
}

// refAmong names a workload, with its cluster if there are several.
func refAmong(several bool, cluster string, w reloader.WorkloadRef) ref {
	if several {
		return workloadRef(cluster, w)
	}
	return workloadRef("", w)
}

func workloadRef(cluster string, w reloader.WorkloadRef) ref {
	return ref{cluster: cluster, namespace: w.Namespace, kind: w.Kind, name: w.Name}
}

func configRef(cluster string, c reloader.Config) ref {
	return ref{cluster: cluster, namespace: c.Namespace, kind: string(c.Kind), name: c.Name}
}
