package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/flags"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// migrateFlags are the cluster to inspect, and how Reroll is going to be installed there.
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

// migrateCommand reports what other tools have left on workloads, and what Reroll will do.
func migrateCommand(version string) *cobra.Command {
	q := &migrateFlags{version: version}
	all := dialect.All(dialect.StakaterOptions{})
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Report what other reloaders have left on workloads, and what Reroll will do",
		Long: "Report what other reloaders have left on workloads, and what Reroll will do: the annotations and marks on each workload, what is misspelt or\n" +
			"left over, which configs roll it, and whether the first start of Reroll does. It does if a mark is not that of the present content and the pods\n" +
			"are not newer: Reroll itself decides by the same function. The command reads workloads and configs with your kubeconfig, and needs no Reroll in\n" +
			"the cluster. It writes nothing and shows no content. Exit code: 0 if nothing needs attention, 1 if something does, 3 if something could not be read.",
		Example: "  reroll doctor migrate\n  reroll doctor migrate --context east -n shop -o wide\n" +
			"  reroll doctor migrate --reload-strategy annotations -o json\n  reroll doctor migrate -o jsonpath='{.items[?(@.rolls)].workload}'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return judged(q.run(cmd)) },
	}
	q.output.bind(cmd, allFormats...)
	q.bind(cmd.Flags(), all.Names())
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	_ = cmd.RegisterFlagCompletionFunc("dialects", cobra.FixedCompletions(all.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("reload-strategy", cobra.FixedCompletions(strategies, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// bind declares the flags but for those of the output. dialects are the names of all.
func (q *migrateFlags) bind(f *pflag.FlagSet, dialects []string) {
	f.StringVar(&q.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the one that kubectl uses)")
	f.StringVar(&q.context, "context", "", "context of the kubeconfig")
	f.StringVar(&q.as, "as", "", "user whose rights to use; needs the right to impersonate")
	f.StringVarP(&q.namespace, "namespace", "n", "", "namespace of the workloads")
	f.BoolVarP(&q.everywhere, "all-namespaces", "A", false, "all namespaces, the default without --namespace")
	f.StringSliceVar(&q.dialects, "dialects", dialects, "dialects that Reroll will read")
	f.StringVar(&q.strategy, "reload-strategy", strategies[0], "how Reroll will mark workloads that do not choose: "+strings.Join(strategies, " or "))
	f.BoolVar(&q.reading.AutoReloadAll, "auto-reload-all", false, "Reroll will roll workloads without annotations as well")
	f.BoolVar(&q.creations, "reload-on-create", false, "Reroll will count the creation of a config as a change")
	q.reading.Keys.Bind(f)
	f.StringSliceVar(&q.ignored, flags.IgnoredKinds, nil, flags.IgnoredKindsUsage)
}

// strategies are the names of those that an installation may have, the default first.
var strategies = []string{mark.EnvVars.Name, mark.Annotations.Name}

// view returns how Reroll will read workloads.
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
	if !slices.Contains(strategies, q.strategy) {
		return adoption.View{}, Usage(fmt.Errorf("--reload-strategy: %q is not %s", q.strategy, strings.Join(strategies, " or ")))
	}
	return adoption.View{All: all, Dialects: chosen, Strategy: q.strategy, Creations: q.creations, Now: time.Now()}, nil
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
	c := newCensus(cluster, v, func(namespace string) { p.say("reading %s", namespace) })
	err = c.take(cmd.Context())
	p.end()
	if err != nil {
		return err
	}
	return q.report(cmd, c)
}

// report prints what was found, and returns the error with the exit code.
func (q *migrateFlags) report(cmd *cobra.Command, c *census) error {
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
