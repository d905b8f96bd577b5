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
	"github.com/reroll-dev/reroll/reloader"
)

// completionTime is how long somebody who has pressed Tab waits.
const completionTime = 2 * time.Second

// completionItems is how many names are read at most for a completion.
const completionItems = 2000

// finder finds names that the server knows, in a scope.
type finder func(s *session, q url.Values) ([]string, error)

// complete completes by what the server knows. A server that does not answer in time completes nothing.
func (q *question) complete(find finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		c, err := q.client(ctx, q.version)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer q.close()
		names, err := find(&session{Context: ctx, client: c, cmd: cmd}, scopeOf(cmd))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(names, toComplete), cobra.ShellCompDirectiveNoFileComp
	}
}

// scopeOf reads the flags that are on the command line already.
func scopeOf(cmd *cobra.Command) url.Values {
	q := url.Values{}
	for _, name := range []string{"cluster", "namespace"} {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			set(q, name, flag.Value.String())
		}
	}
	return q
}

// beginning returns the names that begin with a text, each once, by name.
func beginning(names []string, with string) []string {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !strings.HasPrefix(name, with) })
	for i, name := range names {
		names[i] = printable(name)
	}
	return names
}

func each[T any](s *session, path string, q url.Values, name func(T) string) ([]string, error) {
	l, err := list[T](s, s.client, path, q, completionItems, silently)
	var names []string
	for _, item := range l.items {
		names = append(names, name(item))
	}
	return names, err
}

func clusterNames(s *session, _ url.Values) ([]string, error) {
	return each(s, "/api/v1/clusters", nil, func(c view.Cluster) string { return c.Cluster })
}

func namespaces(s *session, q url.Values) ([]string, error) {
	q.Del("namespace")
	return each(s, "/api/v1/workloads", q, func(w view.Workload) string { return w.Workload.Namespace })
}

func workloadNames(s *session, q url.Values) ([]string, error) {
	return each(s, "/api/v1/workloads", q, func(w view.Workload) string {
		return ref{namespace: unless(q, w.Workload.Namespace), kind: w.Workload.Kind, name: w.Workload.Name}.String()
	})
}

func configNames(s *session, q url.Values) ([]string, error) {
	l, err := list[view.Workload](s, s.client, "/api/v1/workloads", q, completionItems, silently)
	var names []string
	for _, w := range l.items {
		for _, d := range w.Edges {
			names = append(names, ref{namespace: unless(q, d.Config.Namespace), kind: string(d.Config.Kind), name: d.Config.Name}.String())
		}
	}
	return names, err
}

// unless returns a namespace that the flags do not say already.
func unless(q url.Values, namespace string) string {
	if q.Get("namespace") != "" {
		return ""
	}
	return namespace
}

func changeIDs(s *session, q url.Values) ([]string, error) {
	return each(s, "/api/v1/changes", q, func(c view.ChangeRow) string { return c.ID })
}

func reloadIDs(s *session, q url.Values) ([]string, error) {
	return each(s, "/api/v1/reloads", q, func(r view.Reload) string { return r.ID })
}

// outcomeNames are those of reloads, sorted.
func outcomeNames() (names []string) {
	for _, outcome := range slices.Sorted(slices.Values(reloader.Outcomes)) {
		names = append(names, string(outcome))
	}
	return names
}

// fixed lets a flag be completed by words that are known beforehand.
func fixed(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// live lets a flag be completed by what the server knows.
func (q *question) live(cmd *cobra.Command, flag string, find finder) {
	_ = cmd.RegisterFlagCompletionFunc(flag, q.complete(find))
}

// completionCommand prints what a shell needs to complete commands, flags and names.
func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print a script that has a shell complete commands, flags, and the names that the server knows",
		Long: "Print a script that has a shell complete commands, flags, and the names of clusters, namespaces, workloads, configs, changes and\n" +
			"reloads that the server knows ($" + serverVariable + "). For `kubectl reroll`, link the binary as kubectl_complete-reroll into the PATH.",
		Example:   "  source <(reroll completion bash)\n  reroll completion fish > ~/.config/fish/completions/reroll.fish",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenPowerShellCompletionWithDesc(out)
		},
	}
}

// Adapt has root act as the name of the executable says: as kubectl-reroll it tells of itself as `kubectl reroll`, and as
// kubectl_complete-reroll it completes what kubectl asks it to.
func Adapt(root *cobra.Command, executable string, args []string) {
	name := strings.TrimSuffix(filepath.Base(executable), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl " + plugin}
	}
	if strings.HasPrefix(name, "kubectl_complete-") {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
	}
}
