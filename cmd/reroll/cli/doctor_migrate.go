package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/flags"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

// migrateFlags say which cluster is looked at, and how Reroll is going to be installed there.
type migrateFlags struct {
	output
	kubeconfig, context, namespace, as string
	everywhere, creations              bool
	dialects                           []string
	strategy                           string
	reading                            flags.Dialects
	ignored                            []string
	version                            string
}

// migrateCommand looks at what other tools have left on workloads, and says what Reroll will do about it.
func migrateCommand(version string) *cobra.Command {
	q := &migrateFlags{version: version}
	all := dialect.All(dialect.StakaterOptions{})
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Examine what other reloaders have left on workloads, and say what Reroll will do",
		Long: "Examine what other reloaders have left on workloads, and say what Reroll will do: whose annotations and marks each workload carries, what\n" +
			"is misspelt or left over, which configs will roll it, and whether moving in does, which needs a mark that is not of the present\n" +
			"content. It reads workloads and configs by the kubeconfig, and needs no Reroll. Nothing is written, and no content is shown. It ends with\n" +
			"code 0 if nothing has to be sorted out, 1 if something has, and 3 if something could not be found out.",
		Example: "  reroll doctor migrate\n  reroll doctor migrate --context east -n shop -o wide\n" +
			"  reroll doctor migrate --reload-strategy annotations -o json\n  reroll doctor migrate -o jsonpath='{.items[?(@.rolls)].workload}'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return judged(q.run(cmd)) },
	}
	q.output.bind(cmd, allFormats...)
	q.bind(cmd.Flags(), all.Names())
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	_ = cmd.RegisterFlagCompletionFunc("dialects", cobra.FixedCompletions(all.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("reload-strategy", cobra.FixedCompletions(strategyNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// bind declares the flags but for those of the output. dialects are the names of all.
func (q *migrateFlags) bind(f *pflag.FlagSet, dialects []string) {
	f.StringVar(&q.kubeconfig, "kubeconfig", "", "kubeconfig file; as kubectl chooses it if empty")
	f.StringVar(&q.context, "context", "", "context of the kubeconfig")
	f.StringVar(&q.as, "as", "", "by whose rights it is read; needs the right to impersonate them")
	f.StringVarP(&q.namespace, "namespace", "n", "", "the namespace of the workloads")
	f.BoolVarP(&q.everywhere, "all-namespaces", "A", false, "all namespaces, which is also meant without --namespace")
	f.StringSliceVar(&q.dialects, "dialects", dialects, "whose annotations Reroll will read")
	f.StringVar(&q.strategy, "reload-strategy", strategy.All[0].Name, "how Reroll will mark what leaves that open: "+strings.Join(strategyNames(), " or "))
	f.BoolVar(&q.reading.AutoReloadAll, "auto-reload-all", false, "Reroll will take care of workloads that say nothing about it")
	f.BoolVar(&q.creations, "reload-on-create", false, "Reroll will take the creation of a config for a change")
	q.reading.Keys.Bind(f)
	f.StringSliceVar(&q.ignored, flags.IgnoredKinds, nil, flags.IgnoredKindsUsage)
}

func strategyNames() (names []string) {
	for _, s := range strategy.All {
		names = append(names, s.Name)
	}
	return names
}

// view returns how Reroll will look at workloads.
func (q *migrateFlags) view() (adoption.View, error) {
	if err := q.reading.Keys.Check(); err != nil {
		return adoption.View{}, Usage(err)
	}
	ignored, err := flags.Kinds(q.ignored)
	if err != nil {
		return adoption.View{}, Usage(err)
	}
	q.reading.CSI = true
	all := q.reading.Set()
	q.reading.Ignored = ignored
	chosen, err := q.reading.Set().Choose(q.dialects)
	if err != nil {
		return adoption.View{}, Usage(fmt.Errorf("--dialects: %w", err))
	}
	if !slices.Contains(strategyNames(), q.strategy) {
		return adoption.View{}, Usage(fmt.Errorf("--reload-strategy: %q is not %s", q.strategy, strings.Join(strategyNames(), " or ")))
	}
	return adoption.View{All: all, Dialects: chosen, Strategy: q.strategy, Creations: q.creations}, nil
}

func (q *migrateFlags) run(cmd *cobra.Command) error {
	if err := q.check(); err != nil {
		return err
	}
	v, err := q.view()
	if err != nil {
		return err
	}
	scope := kube.Scope{Rollouts: true}
	if q.namespace != "" {
		scope.Namespaces = []string{q.namespace}
	}
	cluster, err := kube.Connect(cmd.Context(), kube.Options{
		Kubeconfig: q.kubeconfig, Context: q.context, As: q.as, QPS: 50, Burst: 100, UserAgent: "reroll/" + q.version,
		KeepAnnotation: adoption.Keeps(v.All), Scope: scope, DryRun: true,
	})
	if err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr())
	c := newCensus(cluster, v, func(namespace string) { p.say("looking at %s", namespace) })
	err = c.take(cmd.Context())
	p.end()
	if err != nil {
		return err
	}
	return q.tell(cmd, c)
}

// tell shows what was found, and returns what it comes to.
func (q *migrateFlags) tell(cmd *cobra.Command, c *census) error {
	for _, warning := range c.warnings {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "warning:", printable(warning))
	}
	a, err := c.answer()
	if err != nil {
		return err
	}
	if len(c.reports) == 0 && (q.format == formatTable || q.format == formatWide) {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "No workload has anything of another reloader.")
	} else if err := q.print(cmd.OutOrStdout(), a); err != nil {
		return err
	}
	switch sum := c.summary(); {
	case sum.Rolls+sum.Conflicts+sum.Typos+sum.Leftovers > 0:
		return errAnswer
	case sum.Unknown > 0 || len(c.warnings) > 0:
		return coded{errAnswer.error, ExitUnknown}
	}
	return nil
}
