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

// finder finds names that Reroll knows, in the cluster and namespace of q.
type finder func(s *session, q url.Values) ([]string, error)

// complete completes by what Reroll knows. A server that does not answer in time completes nothing.
func (g *globals) complete(find finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
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
		names, err := find(s, q)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !strings.HasPrefix(name, begin) })
		for i, name := range names {
			names[i] = printable(name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (g *globals) completeFirst(find finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return g.complete(find)(cmd, args, begin)
	}
}

func each[T any](s *session, resource string, q url.Values, name func(T) string) (names []string, err error) {
	l, err := list[T](s, s.client, resource, q, completionItems)
	for _, item := range l.items {
		names = append(names, name(item))
	}
	return names, err
}

func clusterNames(s *session, _ url.Values) ([]string, error) {
	return each(s, "clusters", nil, func(c view.Cluster) string { return c.Cluster })
}

func namespaceNames(s *session, q url.Values) ([]string, error) {
	q.Del("namespace")
	return each(s, "workloads", q, func(w view.Workload) string { return w.Workload.Namespace })
}

func workloadNames(s *session, q url.Values) ([]string, error) {
	return each(s, "workloads", q, func(w view.Workload) string {
		return ref{namespace: unless(q, w.Workload.Namespace), kind: w.Workload.Kind, name: w.Workload.Name}.String()
	})
}

func configNames(s *session, q url.Values) (names []string, err error) {
	l, err := list[view.Workload](s, s.client, "workloads", q, completionItems)
	for _, w := range l.items {
		for _, d := range w.Edges {
			names = append(names, ref{namespace: unless(q, d.Config.Namespace), kind: string(d.Config.Kind), name: d.Config.Name}.String())
		}
	}
	return names, err
}

// unless returns a namespace that the flags do not name already.
func unless(q url.Values, namespace string) string {
	if q.Get("namespace") != "" {
		return ""
	}
	return namespace
}

// ids returns what finds the IDs of a resource.
func ids(resource string) finder {
	return func(s *session, q url.Values) ([]string, error) {
		return each(s, resource, q, func(r struct{ ID string }) string { return r.ID })
	}
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
