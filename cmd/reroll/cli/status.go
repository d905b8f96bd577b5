package cli

import (
	"encoding/json"
	"io"

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
		Use:     "status",
		Short:   "Tell in one look whether all is well: clusters, freezes and pauses, what is held and what is dead",
		Example: "  reroll status\n  reroll status --exit-code >/dev/null || echo look at it",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			well, err := q.status(cmd)
			if !judge {
				return err
			}
			if err == nil && !well {
				return errAnswer
			}
			return judged(err)
		},
	}
	q.bind(cmd, formatJSON, formatYAML, formatPath)
	cmd.Flags().BoolVar(&judge, "exit-code", false, "end with code 1 if some cluster is not well, or a workload cannot be rolled without help")
	return cmd
}

func (q *question) status(cmd *cobra.Command) (well bool, err error) {
	s, err := q.open(cmd)
	if err != nil {
		return false, err
	}
	var v view.Version
	report := statusReport{Server: s.base.Redacted()}
	if report.Version, err = s.read(s, "/api/v1/version", nil, &v); err != nil {
		return false, err
	}
	clusters, err := list[view.Cluster](s, s.client, "/api/v1/clusters", nil, 0, silently)
	if err != nil {
		return false, err
	}
	held, err := list[view.HeldWorkload](s, s.client, "/api/v1/held", nil, 0, silently)
	if err != nil {
		return false, err
	}
	report.Clusters, report.Held = clusters.body(), held.body()
	body, err := json.Marshal(report)
	if err != nil {
		return false, err
	}
	s.warn(clusters.warnings)
	return allWell(clusters.items, held.items), q.print(cmd.OutOrStdout(), answer{body: body, show: func(w io.Writer, _, _, colours bool) error {
		l := newLines(w, colours)
		l.add(text("Reroll "+v.Version+" at "), cell{report.Server, bold})
		for _, c := range clusters.items {
			writeCluster(l, c, s.now)
		}
		writeHeld(l, held.items, s)
		return l.err
	}})
}

// heldShown is how many workloads status names.
const heldShown = 20

func writeHeld(l *lines, held []view.HeldWorkload, s *session) {
	for i, h := range held {
		if i == heldShown {
			l.addf("  and %d more: reroll workloads --held", len(held)-i)
			return
		}
		paint := warn
		if h.Hold.DeadLetter {
			paint = bad
		}
		l.add(cell{"  " + string(h.Hold.Reason) + " ", paint}, text(workloadRef("", h.Workload).String()+" for "+since(s.now, h.Hold.Since)+because(h.Hold.Message)))
	}
}

// allWell reports whether nobody has to look: every cluster is healthy, and nothing waits for help.
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
	return len(clusters) > 0
}

func workloadRef(cluster string, w view.WorkloadRef) ref {
	return ref{cluster: cluster, namespace: w.Namespace, kind: w.Kind, name: w.Name}
}

func configRef(cluster string, c view.Config) ref {
	return ref{cluster: cluster, namespace: c.Namespace, kind: c.Kind, name: c.Name}
}
