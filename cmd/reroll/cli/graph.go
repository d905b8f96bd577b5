package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
)

const formatDOT = "dot"

// graphFlags narrow the graph.
type graphFlags struct {
	question
	scope
	config  string
	pending bool
	most    int
}

// graphCommand shows which workloads depend on which configs.
func graphCommand(version string) *cobra.Command {
	q := &graphFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:     "graph",
		Short:   "Show which workloads depend on which configs: as a tree, as JSON, or for Graphviz",
		Example: "  reroll graph -n shop\n  reroll graph --config cm/settings --pending\n  reroll graph -o dot | dot -Tsvg > graph.svg",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd) },
	}
	q.question.bind(cmd, formatDOT, formatJSON, formatYAML, formatPath)
	q.scope.bindAll(cmd, &q.question)
	cmd.Flags().StringVar(&q.config, "config", "", "only this config, KIND/NAME")
	cmd.Flags().BoolVar(&q.pending, "pending", false, "only dependencies whose workload waits to be rolled for the config")
	cmd.Flags().IntVar(&q.most, "limit", 1000, "how many dependencies at most, up to 5000")
	q.live(cmd, "config", configNames)
	return cmd
}

func (f *graphFlags) run(cmd *cobra.Command) error {
	s, err := f.open(cmd)
	if err != nil {
		return err
	}
	parameters := f.scope.query()
	parameters.Set("limit", fmt.Sprint(f.most))
	if f.pending {
		parameters.Set("pending", "true")
	}
	if err := dependsOn(parameters, f.config); err != nil {
		return err
	}
	if f.format == formatDOT {
		parameters.Set("format", "dot")
		body, err := s.get(s, "/api/v1/graph", parameters)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(body)
		return err
	}
	var g view.Graph
	body, err := s.read(s, "/api/v1/graph", parameters, &g)
	if err != nil {
		return err
	}
	s.warn(g.Warnings)
	return f.print(cmd.OutOrStdout(), answer{body: json.RawMessage(body), show: func(w io.Writer, _, _, colours bool) error {
		l := newLines(w, colours)
		writeTree(l, g)
		return l.err
	}})
}

// writeTree writes each config with the workloads that depend on it below.
func writeTree(l *lines, g view.Graph) {
	nodes, below := map[string]view.Node{}, map[string][]view.Edge{}
	var configs []string
	for _, n := range g.Nodes {
		nodes[n.ID] = n
		if n.Type == "config" {
			configs = append(configs, n.ID)
		}
	}
	for _, e := range g.Edges {
		below[e.Config] = append(below[e.Config], e)
	}
	slices.Sort(configs)
	for _, config := range configs {
		l.add(cell{nodeRef(nodes[config]), bold})
		for i, e := range below[config] {
			branch := "├── "
			if i == len(below[config])-1 {
				branch = "└── "
			}
			l.add(append([]cell{{branch, faint}}, leaf(nodes[e.Workload], e)...)...)
		}
	}
	if len(configs) == 0 {
		l.addf("Nothing depends on anything here.")
	}
}

func nodeRef(n view.Node) string {
	return ref{cluster: n.Cluster, namespace: n.Namespace, kind: n.Kind, name: n.Name}.String()
}

func leaf(n view.Node, e view.Edge) []cell {
	cells := []cell{text(n.Kind + "/" + n.Name), {" " + string(e.Why), faint}}
	if len(e.Keys) > 0 {
		cells = append(cells, cell{" [" + strings.Join(e.Keys, ", ") + "]", faint})
	}
	if e.Pending {
		cells = append(cells, cell{" pending", warn})
	}
	if n.Hold != "" {
		cells = append(cells, text(" "), reasonCell(n.Hold))
	}
	return cells
}
