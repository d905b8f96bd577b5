package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/flags"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// migrateFlags say how Reroll is going to be installed.
type migrateFlags struct {
	*globals
	as                 string
	dialects, ignored  []string
	strategy           string
	autoAll, creations bool
	renamed            map[string]string
}

// strategies are the names of those that an installation may have, the default first.
var strategies = []string{mark.EnvVars.Name, mark.Annotations.Name}

func migrateCommand(g *globals) *cobra.Command {
	q := &migrateFlags{globals: g}
	cmd := take(&cobra.Command{
		Use:   "migrate",
		Short: "Report what other reloaders left on workloads, and what Reroll will do",
		Long: "Report what other reloaders left on workloads: annotations and marks, mistakes, and whether the first start of Reroll rolls a workload " +
			"once, because it missed a change. It reads with your kubeconfig, needs no Reroll in the cluster, writes nothing and shows no content.\n" +
			"The flags say how Reroll will be installed. It exits with 1 if something needs attention or could not be read.",
		Example: "  reroll migrate\n  reroll migrate -o jsonpath='{.items[?(@.rolls)].workload}'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd) },
	}, takesCluster, takesScope, "output")
	q.bind(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("dialects", cobra.FixedCompletions(dialects.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("reload-strategy", cobra.FixedCompletions(strategies, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (q *migrateFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&q.as, "as", "", "read with the rights of this user; needs the right to impersonate it")
	f.StringSliceVar(&q.dialects, "dialects", nil, "tools whose annotations count (default: all)")
	f.StringVar(&q.strategy, "reload-strategy", strategies[0], "how workloads are marked: "+strings.Join(strategies, " or "))
	f.BoolVar(&q.autoAll, "auto-reload-all", false, "workloads without annotations roll as well")
	f.BoolVar(&q.creations, "reload-on-create", false, "the creation of a config is a change")
	f.StringSliceVar(&q.ignored, flags.IgnoredKinds, nil, flags.IgnoredKindsUsage)
	f.StringToStringVar(&q.renamed, "annotation-keys", nil, "other names of annotations, such as reloader.stakater.com/auto=acme.io/auto")
}

// view returns how Reroll will read workloads.
func (q *migrateFlags) view() (adoption.View, error) {
	reading := flags.Dialects{AutoReloadAll: q.autoAll, CSI: true}
	left := maps.Clone(q.renamed)
	for _, k := range reading.Keys.All() {
		if *k.Key = k.Own; left[k.Own] != "" {
			*k.Key = left[k.Own]
			delete(left, k.Own)
		}
	}
	for own := range left {
		return adoption.View{}, usagef("--annotation-keys: %.80q is not an annotation that can be renamed", own)
	}
	if err := reading.Keys.Check(); err != nil {
		return adoption.View{}, usagef("--annotation-keys: %w", err)
	}
	ignored, err := flags.Kinds(q.ignored)
	if err != nil {
		return adoption.View{}, Usage(err)
	}
	all := reading.Set()
	reading.Ignored = ignored
	names := q.dialects
	if len(names) == 0 {
		names = all.Names()
	}
	chosen, err := reading.Set().Choose(names)
	if err != nil {
		return adoption.View{}, usagef("--dialects: %w", err)
	}
	if !slices.Contains(strategies, q.strategy) {
		return adoption.View{}, usagef("--reload-strategy: %q is not %s", q.strategy, strings.Join(strategies, " or "))
	}
	return adoption.View{All: all, Dialects: chosen, Strategy: q.strategy, Creations: q.creations, Now: time.Now()}, nil
}

func (q *migrateFlags) run(cmd *cobra.Command) error {
	if err := q.checkFormat(); err != nil {
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
		Kubeconfig: q.kubeconfig, Context: q.context, As: q.as, QPS: 50, Burst: 100, UserAgent: q.userAgent(),
		KeepAnnotation: adoption.Keeps(v.All), Scope: scope, DryRun: true,
	})
	if err != nil {
		return err
	}
	c := newCensus(cluster, v)
	if err := c.take(cmd.Context()); err != nil {
		return err
	}
	return q.report(cmd, c)
}

// report prints what was found, and returns the error with the exit code.
func (q *migrateFlags) report(cmd *cobra.Command, c *census) error {
	warn(cmd, c.warnings)
	a, err := c.answer()
	if err != nil {
		return err
	}
	if len(c.reports) == 0 && q.tabular() {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "No workload has anything of another reloader.")
	} else if err := q.print(cmd, a); err != nil {
		return err
	}
	if sum := c.summary(); sum.Rolls+sum.Conflicts+sum.Typos+sum.Leftovers+sum.Unknown+len(c.warnings) > 0 {
		return errAnswer
	}
	return nil
}
