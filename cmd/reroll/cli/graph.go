package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
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
		Use:   "graph [" + refForm + "]",
		Short: "Show which workloads depend on which configs: as a tree, as a table, or for Graphviz",
		Long: "Show which workloads depend on which configs: all of them, or those around one. Of a config these are the workloads that use it, also in\n" +
			"other namespaces and clusters; of a workload, the configs that it uses. -o wide is a table with a row for each dependency; -o name\n" +
			"has the workloads, or the configs around a workload.",
		Example: "  reroll graph -n shop\n  reroll graph shop/cm/settings\n  reroll graph deploy/cart -n shop\n  reroll graph --config cm/settings --pending\n" +
			"  reroll graph -o dot | dot -Tsvg > graph.svg",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return q.run(cmd, strings.Join(args, "")) },
	}
	q.question.bind(cmd, append([]string{formatDOT}, allFormats...)...)
	q.scope.bindAll(cmd, &q.question)
	cmd.Flags().StringVar(&q.config, "config", "", "only this config, "+refForm)
	cmd.Flags().BoolVar(&q.pending, "pending", false, "only dependencies whose workload waits to be rolled for the config")
	cmd.Flags().IntVar(&q.most, "limit", 1000, "how many dependencies at most, up to 5000")
	q.live(cmd, "config", configNames)
	cmd.ValidArgsFunction = firstOnly(q.complete(allNames))
	return cmd
}

func (f *graphFlags) run(cmd *cobra.Command, name string) error {
	s, err := f.open(cmd)
	if err != nil {
		return err
	}
	parameters, centre, err := f.parameters(name)
	if err != nil {
		return err
	}
	if f.format == formatDOT {
		parameters.Set("format", "dot")
		body, err := s.graph(parameters)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(body)
		return err
	}
	body, err := s.graph(parameters)
	if err != nil {
		return err
	}
	var g view.Graph
	if err := decode(body, &g); err != nil {
		return err
	}
	s.warn(g.Warnings)
	return f.print(cmd.OutOrStdout(), answer{body: json.RawMessage(body), names: graphNames(g, centre), show: func(w io.Writer, wide, headers, colours bool) error {
		if wide && len(g.Edges) > 0 {
			return graphTable(g).write(w, true, headers, colours)
		}
		l := newLines(w, colours)
		writeGraph(l, g, centre)
		return l.err
	}})
}

// graph asks for the graph.
func (s *session) graph(q url.Values) (body []byte, err error) {
	err = s.nearby(q, func() error {
		body, err = s.get(s, "/api/v1/graph", q)
		return err
	})
	return body, err
}

// parameters returns what is asked, and around what; centre is empty if no config or workload is named.
func (f *graphFlags) parameters(name string) (q url.Values, centre ref, err error) {
	if f.most < 1 || f.most > 5000 {
		return nil, ref{}, Usage(fmt.Errorf("--limit: %d is not from 1 to 5000", f.most))
	}
	q = f.scope.query()
	if name != "" {
		if centre, err = f.centre(name); err != nil {
			return nil, ref{}, err
		}
		q = around(centre)
	}
	q.Set("limit", fmt.Sprint(f.most))
	if f.pending {
		q.Set("pending", "true")
	}
	if f.config != "" && slices.Contains(configKinds(), centre.kind) {
		return nil, ref{}, Usage(fmt.Errorf("both %s and --config name a config: leave one of them out", centre))
	}
	return q, centre, dependsOn(q, f.config)
}

// centre finds out which config or workload is meant: its namespace may be open, as it may be for a list.
func (f *graphFlags) centre(name string) (ref, error) {
	r, err := parseRef(name, slices.Concat(configKinds(), workloadKinds()))
	if err != nil {
		return r, err
	}
	return r.within(f.scope)
}

// around returns the parameters of the graph around a config or workload. Who uses a config may be anywhere.
func around(r ref) url.Values {
	q, prefix := url.Values{}, ""
	if slices.Contains(configKinds(), r.kind) {
		prefix = "config"
	}
	for name, value := range map[string]string{"Cluster": r.cluster, "Namespace": r.namespace, "Kind": r.kind, "Name": r.name} {
		if prefix == "" {
			name = strings.ToLower(name)
		}
		set(q, prefix+name, value)
	}
	return q
}

// writeGraph writes the tree of each workload if one is the centre, and else of each config.
func writeGraph(l *lines, g view.Graph, centre ref) {
	switch {
	case len(g.Edges) == 0 && centre.name == "":
		l.addf("Nothing depends on anything here.")
	case len(g.Edges) == 0 && slices.Contains(configKinds(), centre.kind):
		l.addf("Nothing that is opted in depends on %s.", centre)
	case len(g.Edges) == 0:
		l.addf("%s depends on no config, or is not opted in.", centre)
	case slices.Contains(workloadKinds(), centre.kind):
		writeTree(l, g, "workload")
	default:
		writeTree(l, g, "config")
	}
}

// writeTree writes each node of a type with those that it has dependencies with below.
func writeTree(l *lines, g view.Graph, roots string) {
	nodes, below := map[string]view.Node{}, map[string][]view.Edge{}
	var tops []string
	for _, n := range g.Nodes {
		nodes[n.ID] = n
		if n.Type == roots {
			tops = append(tops, n.ID)
		}
	}
	for _, e := range g.Edges {
		top := e.Config
		if roots == "workload" {
			top = e.Workload
		}
		below[top] = append(below[top], e)
	}
	slices.Sort(tops)
	for _, top := range tops {
		l.add(append([]cell{{nodeRef(nodes[top]), bold}}, holdOf(nodes[top])...)...)
		for i, e := range below[top] {
			branch := "├── "
			if i == len(below[top])-1 {
				branch = "└── "
			}
			other := nodes[e.Workload]
			if roots == "workload" {
				other = nodes[e.Config]
			}
			l.add(append([]cell{{branch, faint}}, leaf(nodes[top], other, e)...)...)
		}
	}
}

// graphNames names what depends on configs, or the configs if a workload is the centre. The cluster is left out if it is that of all.
func graphNames(g view.Graph, centre ref) (names []string) {
	wanted := "workload"
	if slices.Contains(workloadKinds(), centre.kind) {
		wanted = "config"
	}
	several := slices.ContainsFunc(g.Nodes, func(n view.Node) bool { return n.Cluster != g.Nodes[0].Cluster })
	for _, n := range g.Nodes {
		if !several {
			n.Cluster = ""
		}
		if n.Type == wanted {
			names = append(names, nodeRef(n))
		}
	}
	slices.Sort(names)
	return names
}

// graphTable has all there is about each dependency.
func graphTable(g view.Graph) *table {
	t := &table{columns: []column{{name: "CONFIG"}, {name: "WORKLOAD"}, {name: "WHY"}, {name: "KEYS"}, {name: "PENDING"}, {name: "HOLD"}}}
	nodes := map[string]view.Node{}
	for _, n := range g.Nodes {
		nodes[n.ID] = n
	}
	for _, e := range g.Edges {
		config, workload := nodes[e.Config], nodes[e.Workload]
		pending := text(dash)
		if e.Pending {
			pending = cell{"pending", warn}
		}
		t.add(text(nodeRef(config)), text(nodeRef(workload)), text(string(e.Why)), text(orDash(strings.Join(e.Keys, ","))), pending, reasonCell(view.Reason(orDash(string(workload.Hold)))))
	}
	return t
}

func nodeRef(n view.Node) string {
	return ref{cluster: n.Cluster, namespace: n.Namespace, kind: n.Kind, name: n.Name}.String()
}

// leaf tells of a dependency: what is at its other end, with the place of that only where it is another, and what there is about it.
func leaf(top, n view.Node, e view.Edge) []cell {
	name := ref{kind: n.Kind, name: n.Name}
	if n.Namespace != top.Namespace || n.Cluster != top.Cluster {
		name.namespace = n.Namespace
	}
	if n.Cluster != top.Cluster {
		name.cluster = n.Cluster
	}
	cells := []cell{text(name.String()), {" " + string(e.Why), faint}}
	if len(e.Keys) > 0 {
		cells = append(cells, cell{" [" + strings.Join(e.Keys, ", ") + "]", faint})
	}
	if e.Pending {
		cells = append(cells, cell{" pending", warn})
	}
	return append(cells, holdOf(n)...)
}

func holdOf(n view.Node) []cell {
	if n.Hold == "" {
		return nil
	}
	return []cell{text(" "), reasonCell(n.Hold)}
}
