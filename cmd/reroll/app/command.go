// Package app wires the rooms of Reroll together: one function for each role, in the order in which parts start, torn down in
// reverse.
//
//	             ┌───────── queue ─────────┐
//	ingest ──Put─▶ HINTS ─▶ dispatcher ─▶ CHANGES, RELOADS, records ─▶ api
//	                           │
//	                      API server
package app

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Command returns the command line of Reroll.
func Command(version string) *cobra.Command {
	root := &cobra.Command{
		Use:           "reroll",
		Short:         "Roll Kubernetes workloads when a ConfigMap or Secret that they use has changed",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	for _, role := range roles {
		root.AddCommand(roleCommand(role, version))
	}
	root.AddCommand(freezeCommand(version), thawCommand(version), retryCommand(version), natsCommand(version))
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
			return err
		},
	})
	return root
}

// role is one shape in which the program runs.
type role struct {
	name, short              string
	ingest, dispatch, answer bool
	// clusterName is the default of --cluster-name; where it is empty, the flag is required if the role needs it.
	clusterName string
	// embeds says that the role has a NATS server of its own unless --nats-url is given.
	embeds bool
}

// roles are all shapes, as the design lists them.
var roles = []role{
	{name: "serve", short: "Run everything in one process, with NATS inside", ingest: true, dispatch: true, answer: true, clusterName: "local", embeds: true},
	{name: "ingest", short: "Receive audit events and store hints", ingest: true},
	{name: "dispatch", short: "Verify hints and roll workloads of one cluster", dispatch: true},
	{name: "api", short: "Answer who changed what and what rolled", answer: true},
}

func roleCommand(r role, version string) *cobra.Command {
	s := &Settings{}
	cmd := &cobra.Command{
		Use:   r.name,
		Short: r.short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.complete(cmd.Flags(), r); err != nil {
				return err
			}
			return run(cmd.Context(), *s, r, version)
		},
	}
	s.bind(cmd.Flags(), r)
	return cmd
}
