package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// Graph is which workloads depend on which configs.
type Graph struct {
	Nodes    []Node   `json:"nodes" nullable:"false" doc:"The configs and workloads, each once."`
	Edges    []Edge   `json:"edges" nullable:"false" doc:"The dependencies."`
	Warnings []string `json:"warnings" nullable:"false" doc:"What is missing from this answer, for people. Empty if it is complete."`
}

// Node is a config or a workload.
type Node struct {
	ID        string `json:"id" doc:"Identifies the node in this answer." example:"local/Deployment/shop/cart"`
	Type      string `json:"type" enum:"config,workload" doc:"What it is."`
	Cluster   string `json:"cluster" doc:"Its cluster."`
	Kind      string `json:"kind" doc:"Its kind."`
	Namespace string `json:"namespace" doc:"Its namespace."`
	Name      string `json:"name" doc:"Its name."`
	Hold      Reason `json:"hold,omitempty" doc:"Why a workload is held back. Absent if it is not, and for configs."`
}

// Edge is the dependency of a workload on a config.
type Edge struct {
	Config   string   `json:"config" doc:"The node of the config."`
	Workload string   `json:"workload" doc:"The node of the workload."`
	Why      Reason   `json:"why" doc:"Why the workload asks for the config."`
	Keys     []string `json:"keys" nullable:"false" doc:"The keys in use. Empty means all of them."`
	Pending  bool     `json:"pending" doc:"Whether the workload waits to be rolled for it."`
}

// GraphOf returns the graph of workloads, without edges that keep leaves out and, beyond most edges, without the rest.
func GraphOf(workloads []*reloader.WorkloadRecord, keep func(*reloader.WorkloadRecord, reloader.Edge) bool, most int) Graph {
	g := Graph{Nodes: []Node{}, Edges: []Edge{}, Warnings: []string{}}
	seen := map[string]bool{}
	add := func(n Node) string {
		if !seen[n.ID] {
			seen[n.ID] = true
			g.Nodes = append(g.Nodes, n)
		}
		return n.ID
	}
	for _, w := range workloads {
		for _, e := range w.Edges {
			if !keep(w, e) {
				continue
			}
			if len(g.Edges) == most {
				g.Warnings = append(g.Warnings, fmt.Sprintf("There are more than %d dependencies; narrow the question to see the others.", most))
				return g
			}
			g.Edges = append(g.Edges, Edge{
				Config: add(configNode(w.Cluster, e.Config)), Workload: add(workloadNode(w)),
				Why: Reason(e.Why), Keys: keysOf(e.Uses), Pending: e.Pending != "",
			})
		}
	}
	return g
}

func configNode(cluster string, c reloader.Config) Node {
	owner := cmp.Or(c.Cluster, cluster)
	c.Cluster = ""
	return Node{ID: owner + "/" + c.String(), Type: "config", Cluster: owner, Kind: string(c.Kind), Namespace: c.Namespace, Name: c.Name}
}

func workloadNode(w *reloader.WorkloadRecord) Node {
	n := Node{
		ID: w.Cluster + "/" + w.Workload.String(), Type: "workload", Cluster: w.Cluster,
		Kind: w.Workload.Kind, Namespace: w.Workload.Namespace, Name: w.Workload.Name,
	}
	if w.Hold != nil {
		n.Hold = Reason(w.Hold.Reason)
	}
	return n
}

// keysOf returns the keys in use, or none if some use takes all.
func keysOf(uses []reloader.Use) []string {
	keys, seen := []string{}, map[string]bool{}
	for _, u := range uses {
		if len(u.Keys) == 0 {
			return []string{}
		}
		for _, k := range u.Keys {
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// DOT returns g in the language of Graphviz.
func (g Graph) DOT() []byte {
	var b strings.Builder
	b.WriteString("digraph reroll {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n")
	for _, warning := range g.Warnings {
		fmt.Fprintf(&b, "  // %s\n", warning)
	}
	for _, n := range g.Nodes {
		shape, label := "note", n.Kind+"\n"+n.Namespace+"/"+n.Name
		if n.Type == "workload" {
			shape = "box"
		}
		if n.Hold != "" {
			label += "\n" + string(n.Hold)
		}
		fmt.Fprintf(&b, "  %s [shape=%s, label=%s];\n", strconv.Quote(n.ID), shape, strconv.Quote(label))
	}
	for _, e := range g.Edges {
		style := "solid"
		if e.Pending {
			style = "dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [style=%s, label=%s];\n", strconv.Quote(e.Config), strconv.Quote(e.Workload), style, strconv.Quote(strings.Join(e.Keys, "\n")))
	}
	b.WriteString("}\n")
	return []byte(b.String())
}
