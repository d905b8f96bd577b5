package app

import (
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
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

// hubNATS returns how to reach the NATS of a hub: nats of the settings.
func hubNATS(cmd *cobra.Command, flags *config.Flags, cluster, version string) (queue.Options, error) {
	c, err := flags.Read()
	if err == nil && c.NATS.URL == "" {
		err = errors.New("nats.url is required: give --config FILE, or --set nats.url=URL")
	}
	if err := errors.Join(err, reloader.ValidateCluster(cluster)); err != nil {
		return queue.Options{}, cli.Usage(err)
	}
	o := c.NATS.Options()
	o.Name, o.Logger = "reroll-hub/"+version, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	return o, nil
}

func hubAddCommand(version string) *cobra.Command {
	var settings config.Flags
	cmd := &cobra.Command{
		Use:   "add CLUSTER",
		Short: "Prepare the NATS of a hub for a cluster",
		Long: "Create the streams of a hub, and what delivers to the cluster the configs that it follows. Print the account of the cluster for the " +
			"configuration of NATS: add it first, and reload each server twice. Running this again is harmless.",
		Example: "  reroll hub add east --config hub.yaml\n  reroll hub add east --set nats.url=tls://hub:4222 --set nats.credentials=hub.creds",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := hubNATS(cmd, &settings, args[0], version)
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
	settings.BindFile(cmd.Flags())
	return cmd
}

func hubRemoveCommand(version string) *cobra.Command {
	var settings config.Flags
	cmd := &cobra.Command{
		Use:   "remove CLUSTER",
		Short: "Remove the records of a cluster from a hub",
		Long: "Remove the records of a cluster from a hub, and its name. Remove the account of the cluster from the configuration of NATS first: a " +
			"cluster that can still write begins again with all its records.",
		Example: "  reroll hub remove east --config hub.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := hubNATS(cmd, &settings, args[0], version)
			if err != nil {
				return err
			}
			return hub.Remove(cmd.Context(), o, args[0])
		},
	}
	settings.BindFile(cmd.Flags())
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
