// Package app wires the rooms of Reroll together: one function for each role, in the order in which parts start, torn down in
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
	"github.com/reroll-dev/reroll/reloader/queue"
)

// Command returns the command line of Reroll.
func Command(version string) *cobra.Command {
	root := cli.Root(version)
	root.AddCommand(hubCommand(version))
	for _, role := range roles {
		root.AddCommand(roleCommand(role, version))
	}
	cli.CheckUsage(root)
	return root
}

// role is one shape in which the program runs.
type role struct {
	name, short, example     string
	ingest, dispatch, answer bool
	// admit says that the role has the admission webhook, if it has an address.
	admit bool
	// clusterName is the default of --cluster-name; where it is empty, the flag is required if the role needs it.
	clusterName string
	// embeds says that the role has a NATS server of its own unless --nats-url is given.
	embeds bool
}

// roles are all shapes, as the design lists them.
var roles = []role{
	{
		name: "serve", short: "Run everything in one process, with NATS inside", ingest: true, dispatch: true, answer: true, admit: true, clusterName: "local", embeds: true,
		example: "  reroll serve --ingest-tls-cert tls.crt --ingest-tls-key tls.key --ingest-tls-client-ca ca.crt",
	},
	{
		name: "ingest", short: "Receive audit events and store hints", ingest: true,
		example: "  reroll ingest --nats-url nats://nats:4222 --ingest-tls-cert tls.crt --ingest-tls-key tls.key --ingest-tls-client-ca ca.crt",
	},
	{
		name: "dispatch", short: "Verify hints and roll workloads of one cluster", dispatch: true,
		example: "  reroll dispatch --nats-url nats://nats:4222 --cluster-name east",
	},
	{
		name: "api", short: "Answer who changed what and what rolled", answer: true,
		example: "  reroll api --nats-url nats://nats:4222",
	},
	{
		name: "admission", short: "Keep the marks of workloads while others write them", admit: true,
		example: "  reroll admission --namespace reroll-system",
	},
}

// admitOnly reports whether the role needs no NATS: it decides and writes nothing.
func (r role) admitOnly() bool { return r.admit && !r.dispatch }

// streams returns those that the role uses.
func (r role) streams() []string {
	switch {
	case r.dispatch:
		return []string{queue.HintsStream, queue.HistoryStream, queue.StateStream}
	case r.ingest:
		return []string{queue.HintsStream}
	}
	return []string{queue.HistoryStream, queue.StateStream}
}

func roleCommand(r role, version string) *cobra.Command {
	s := &Settings{}
	cmd := &cobra.Command{
		Use:     r.name,
		Short:   r.short,
		Example: r.example,
		Args:    cobra.NoArgs,
		Hidden:  r.name != "serve", // parts of serve
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
