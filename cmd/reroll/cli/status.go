package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
)

// statusReport is the answer of reroll status: what three questions to the API were answered with.
type statusReport struct {
	Server   string          `json:"server"`
	Version  json.RawMessage `json:"version"`
	Clusters json.RawMessage `json:"clusters"`
	Held     json.RawMessage `json:"held"`
}

// statusCommand tells in one look whether all is well.
func statusCommand(version string) *cobra.Command {
	q := &question{version: version}
	var judge bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell in one look whether all is well: clusters, freezes and pauses, what is held and what is dead",
		Long: "Tell in one look whether all is well: clusters, freezes and pauses, what is held and what is dead. With --exit-code it ends with code 0 if\n" +
			"all is well, 1 if some cluster is not or a workload cannot be rolled without help, and 3 if that could not be found out: the server was not\n" +
			"reached, or warns that its answer may lack something. -o wide has a table of every held workload, and -o name their names.",
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
	cmd.Flags().BoolVar(&judge, "exit-code", false, "end with code 1 if some cluster is not well, or a workload cannot be rolled without help")
	return cmd
}

// status shows how all is. It reports whether nobody has to look as far as the server knows, and whether it knows of all.
func (q *question) status(cmd *cobra.Command) (well, complete bool, err error) {
	s, err := q.open(cmd)
	if err != nil {
		return false, false, err
	}
	var v view.Version
	report := statusReport{Server: s.base.Redacted()}
	if report.Version, err = s.read(s, "/api/v1/version", nil, &v); err != nil {
		return false, false, err
	}
	clusters, err := list[view.Cluster](s, s.client, "/api/v1/clusters", nil, 0, silently)
	if err != nil {
		return false, false, err
	}
	held, err := list[view.HeldWorkload](s, s.client, "/api/v1/held", nil, 0, silently)
	if err != nil {
		return false, false, err
	}
	report.Clusters, report.Held = clusters.body(), held.body()
	body, err := json.Marshal(report)
	if err != nil {
		return false, false, err
	}
	warnings := union(clusters.warnings, held.warnings)
	s.warn(warnings)
	complete = len(warnings) == 0
	well = allWell(clusters.items, held.items) && (len(clusters.items) > 0 || !complete)
	h := heldList{held.items, len(clusters.items) > 1}
	return well, complete, q.print(cmd.OutOrStdout(), answer{
		body: body, names: h.names(), show: func(w io.Writer, wide, headers, colours bool) error {
			l := newLines(w, colours)
			l.add(text("Reroll "+v.Version+" at "), cell{report.Server, bold})
			for _, c := range clusters.items {
				writeCluster(l, c, s.now)
			}
			if wide && len(h.workloads) > 0 {
				return errors.Join(l.err, h.table(s.now).write(w, true, headers, colours))
			}
			h.write(l, s.now)
			return l.err
		},
	})
}

// heldList is the workloads that wait. Their clusters are named if there are several.
type heldList struct {
	workloads []view.HeldWorkload
	several   bool
}

func (h heldList) name(w view.HeldWorkload) string {
	return refAmong(h.several, w.Cluster, w.Workload).String()
}

func (h heldList) names() (names []string) {
	for _, w := range h.workloads {
		names = append(names, h.name(w))
	}
	return names
}

// heldShown is how many workloads status names.
const heldShown = 20

func (h heldList) write(l *lines, now time.Time) {
	for i, w := range h.workloads {
		if i == heldShown {
			l.addf("  and %d more: reroll workloads --held", len(h.workloads)-i)
			return
		}
		l.add(text("  "), heldCell(w), text(" "+h.name(w)+" for "+since(now, w.Hold.Since)+because(w.Hold.Message)))
	}
}

// table shows all of them.
func (h heldList) table(now time.Time) *table {
	t := &table{columns: []column{{name: "HELD"}, {name: "REASON"}, {name: "FOR"}, {name: "DUE"}, {name: "ATTEMPTS"}, {name: "WAITS FOR"}, {name: "LAST RELOAD"}, {name: "MESSAGE"}}}
	for _, w := range h.workloads {
		var changes []string
		for _, p := range w.Pending {
			changes = append(changes, p.Change)
		}
		t.add(text(h.name(w)), heldCell(w), text(since(now, w.Hold.Since)), text(exactly(w.Hold.Due)), text(fmt.Sprint(w.Hold.Attempts)),
			text(orDash(strings.Join(changes, ","))), text(orDash(w.LastReload)), text(orDash(w.Hold.Message)))
	}
	return t
}

func heldCell(w view.HeldWorkload) cell {
	if w.Hold.DeadLetter {
		return cell{string(w.Hold.Reason), bad}
	}
	return cell{string(w.Hold.Reason), warn}
}

// allWell reports whether nobody has to look: every cluster that is known is healthy, and nothing waits for help.
func allWell(clusters []view.Cluster, held []view.HeldWorkload) bool {
	for _, c := range clusters {
		if c.Health != view.Healthy {
			return false
		}
	}
	for _, h := range held {
		if h.Hold.DeadLetter || h.Dead {
			return false
		}
	}
	return true
}

// refAmong names a workload, with its cluster if there are several.
func refAmong(several bool, cluster string, w view.WorkloadRef) ref {
	if several {
		return workloadRef(cluster, w)
	}
	return workloadRef("", w)
}

func workloadRef(cluster string, w view.WorkloadRef) ref {
	return ref{cluster: cluster, namespace: w.Namespace, kind: w.Kind, name: w.Name}
}

func configRef(cluster string, c view.Config) ref {
	return ref{cluster: cluster, namespace: c.Namespace, kind: c.Kind, name: c.Name}
}
