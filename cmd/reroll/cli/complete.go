package cli

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
)

const (
	// completionTime is how long a user who has pressed Tab waits.
	completionTime = 2 * time.Second
	// completionItems is how many records are read for a completion.
	completionItems = 2000
)

// naming returns the names that the record of a workload has.
type naming func(g *globals, w view.Workload) []string

// complete completes by the workloads on record, as long as fewer than most arguments are there; 0 is any. Without names, or if a server does not answer
// in time, it completes nothing.
func (g *globals) complete(names naming, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) (found []string, _ cobra.ShellCompDirective) {
		if names == nil || most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		s, err := g.open(ctx, cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.end()
		q := url.Values{}
		set(q, "cluster", g.cluster)
		set(q, "namespace", g.namespace)
		l, _ := list[view.Workload](s, s.client, "workloads", q, completionItems) // what was read completes
		for _, w := range l.items {
			for _, name := range names(g, w) {
				if strings.HasPrefix(name, begin) {
					found = append(found, printable(name))
				}
			}
		}
		slices.Sort(found)
		return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
	}
}

func clusterNames(_ *globals, w view.Workload) []string { return []string{w.Cluster} }

func namespaceNames(_ *globals, w view.Workload) []string { return []string{w.Workload.Namespace} }

func workloadNames(g *globals, w view.Workload) []string {
	return []string{g.short(workloadRef("", w.Workload))}
}

func configNames(g *globals, w view.Workload) (names []string) {
	for _, e := range w.Edges {
		names = append(names, g.short(configRef("", e.Config)))
	}
	return names
}

// short writes r without a namespace that the flags name already.
func (g *globals) short(r ref) string {
	if g.namespace != "" {
		r.namespace = ""
	}
	return r.String()
}

// Adapt has root act as the name of the executable says: as kubectl-reroll it calls itself `kubectl reroll`, and as kubectl_complete-reroll it completes
// what kubectl asks for.
func Adapt(root *cobra.Command, executable string, args []string) {
	name := strings.TrimSuffix(filepath.Base(executable), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl " + plugin}
	}
	if strings.HasPrefix(name, "kubectl_complete-") {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
	}
}
