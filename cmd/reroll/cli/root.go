package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Root returns the command line of Reroll, without the commands that run it.
func Root(version string) *cobra.Command {
	root := &cobra.Command{
		Use:           "reroll",
		Version:       version,
		Short:         "Roll Kubernetes workloads when a ConfigMap or Secret that they use changes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	g := &globals{version: version}
	g.bind(root)
	audit := &cobra.Command{Use: "audit", Short: "Set up the audit events of the API server, and prove that they come in"}
	audit.AddCommand(auditSetupCommand(g), auditCheckCommand(g))
	root.AddCommand(
		statusCommand(g), getCommand(g), explainCommand(g), impactCommand(g), reloadCommand(g), retryCommand(g), pauseCommand(g), resumeCommand(g),
		checkCommand(g), migrateCommand(g), dashboardCommand(g), versionCommand(version),
		audit,
	)
	root.CompletionOptions.HiddenDefaultCmd = true
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !takes(cmd, f.Name) })
		help(cmd, args)
	})
	return root
}

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  reroll version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
			return err
		},
	}
}
