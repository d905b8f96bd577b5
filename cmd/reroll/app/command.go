// Package app wires the rooms of Reroll together: one function for each part, in the order in which parts start, torn down in
// reverse.
//
//	             ┌───────── queue ─────────┐
//	ingest ──Put─▶ HINTS ─▶ dispatcher ─▶ HISTORY, STATE ─▶ api
//	                           │
//	                      API server
package app

import (
	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
)

// Command returns the command line of Reroll.
func Command(version string) *cobra.Command {
	root := cli.Root(version)
	root.AddCommand(hubCommand(version), serveCommand(version))
	cli.CheckUsage(root)
	return root
}

func serveCommand(version string) *cobra.Command {
	var flags config.Flags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run Reroll: receive audit events, roll workloads and serve the API",
		Long: "Run Reroll: receive audit events, roll workloads, and answer questions about both. All settings are\n" +
			"in one YAML file (--config); docs/configuration.md lists them. --set has the same keys, and wins.",
		Example: "  reroll serve --config reroll.yaml\n  reroll serve --config reroll.yaml --check\n  reroll serve --components ingest --set nats.url=nats://nats:4222",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := flags.Load()
			if err != nil {
				return cli.Usage(err)
			}
			if flags.Check {
				for _, warning := range s.Warnings {
					cmd.PrintErrln("warning:", warning)
				}
				return nil
			}
			return run(cmd.Context(), s, version)
		},
	}
	flags.Bind(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}
