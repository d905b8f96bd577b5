package app

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
)

// hubCommand is what an administrator of a hub needs.
func hubCommand(version string) *cobra.Command {
	cmd := &cobra.Command{Use: "hub", Short: "Add clusters to the NATS of a hub, and remove them"}
	cmd.AddCommand(hubAddCommand(version), hubRemoveCommand(version), hubPermissionsCommand())
	return cmd
}

// hubAdmin says how to reach the NATS of a hub.
type hubAdmin struct {
	NATS
	url string
}

// bind declares the flags. They may be set in the environment, as those of the roles.
func (a *hubAdmin) bind(cmd *cobra.Command) {
	connection := pflag.NewFlagSet("nats", pflag.ContinueOnError)
	connection.StringVar(&a.url, "nats-url", "", "addresses of the NATS of the hub, separated by commas")
	a.bindConnection(connection)
	a.bindReplicas(connection)
	cmd.Flags().AddFlagSet(connection)
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := fromEnvironment(connection); err != nil {
			return err
		}
		if a.url == "" {
			return cli.Usage(errors.New("--nats-url is required"))
		}
		if len(args) == 1 {
			return cli.Usage(reloader.ValidateCluster(args[0]))
		}
		return nil
	}
}

func (a *hubAdmin) connection(cmd *cobra.Command, version string) (queue.Options, error) {
	o, err := a.options(a.url)
	o.Name = "reroll-hub/" + version
	o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	return o, err
}

func hubAddCommand(version string) *cobra.Command {
	var a hubAdmin
	cmd := &cobra.Command{
		Use:   "add CLUSTER",
		Short: "Prepare the NATS of a hub for a cluster",
		Long: "Create the streams of a hub, and what delivers to the cluster the configs that it follows. Print the account of the cluster for the " +
			"configuration of NATS: add it first, and reload each server twice. Running this again is harmless.",
		Example: "  reroll hub add east --nats-url tls://hub:4222 --nats-user HUB --nats-password-file hub.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.connection(cmd, version)
			if err != nil {
				return err
			}
			if err := hub.Add(cmd.Context(), o, args[0]); err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), hub.MemberPermissions(args[0]))
			return err
		},
	}
	a.bind(cmd)
	return cmd
}

func hubRemoveCommand(version string) *cobra.Command {
	var a hubAdmin
	var force bool
	cmd := &cobra.Command{
		Use:   "remove CLUSTER",
		Short: "Remove the records of a cluster from a hub",
		Long: "Remove the records of a cluster from a hub, and its name. Remove the account of the cluster from the configuration of NATS first: a " +
			"cluster that can still write begins again with all its records.",
		Example: "  reroll hub remove east --nats-url tls://hub:4222 --nats-user HUB --nats-password-file hub.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.connection(cmd, version)
			if err != nil {
				return err
			}
			removed, err := hub.Remove(cmd.Context(), o, args[0], force)
			for _, r := range removed {
				_, printErr := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d messages removed\n", r.Stream, r.Messages)
				err = errors.Join(err, printErr)
			}
			return err
		},
	}
	a.bind(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "remove it although it reported its status lately")
	return cmd
}

func hubPermissionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "permissions [CLUSTER...]",
		Short: "Print the accounts of a hub for the configuration of NATS",
		Long: "Print the accounts of a hub for the configuration of NATS: one that has the records, and one for each cluster, which may write its own. " +
			"Passwords come from variables in the environment of the NATS server.",
		Example: "  reroll hub permissions east west",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := hub.Permissions(args)
			if err != nil {
				return cli.Usage(err)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
}
