package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/kube"
)

type migrateFlags struct {
	*globals
	settings config.Flags
}

func migrateCommand(g *globals) *cobra.Command {
	q := &migrateFlags{globals: g}
	cmd := take(&cobra.Command{
		Use:   "migrate",
		Short: "Report what other reloaders left on workloads, and what Reroll will do",
		Long: "Report what other reloaders left on workloads: annotations and marks, mistakes, and whether the\nfirst start of Reroll rolls a workload " +
			"once, because it missed a change. It reads with your\nkubeconfig, needs no Reroll in the cluster, writes nothing and shows no content.\n" +
			"--config has the settings that Reroll will have. It exits with 1 if something needs attention or\ncould not be read.",
		Example: "  reroll migrate\n  reroll migrate --config reroll.yaml\n  reroll migrate -o jsonpath='{.items[?(@.rolls==true)].workload}'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd) },
	}, takesCluster, takesScope, "output")
	q.settings.BindFile(cmd.Flags())
	return cmd
}

func (q *migrateFlags) view() (adoption.View, error) {
	c, err := q.settings.Read()
	return adoption.View{All: c.AllDialects(), Dialects: c.Dialects(), Strategy: c.Reload.Strategy, Creations: c.Reload.OnCreate, Now: time.Now()}, Usage(err)
}

func (q *migrateFlags) run(cmd *cobra.Command) error {
	v, err := q.view()
	if err != nil {
		return err
	}
	scope := kube.Scope{Rollouts: true}
	if q.namespace != "" {
		scope.Namespaces = []string{q.namespace}
	}
	cluster, err := q.connect(cmd.Context(), adoption.Keeps(v.All), scope)
	if err != nil {
		return err
	}
	c := newCensus(cluster, v)
	if err := c.take(cmd.Context()); err != nil {
		return err
	}
	warn(cmd, c.warnings)
	if len(c.reports) == 0 && q.tabular() {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "No workload has annotations or marks of another reloader.")
	} else if err := q.print(cmd, c.answer()); err != nil {
		return err
	}
	if sum := c.summary(); sum.Rolls+sum.Conflicts+sum.Typos+sum.Leftovers+sum.Unknown+len(c.warnings) > 0 {
		return errAnswer
	}
	return nil
}
