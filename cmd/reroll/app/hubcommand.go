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
	cmd.AddCommand(onHub(&cobra.Command{
		Use:   "add CLUSTER",
		Short: "Prepare the NATS of a hub for a cluster",
		Long: "Create the streams of a hub, and what delivers to the cluster the configs that it follows. Print the\naccount of the cluster for the " +
			"configuration of NATS: add it first, and reload each server twice.\nRunning this again is harmless.",
		Example: "  reroll hub add east --config hub.yaml\n  reroll hub add east --set nats.url=tls://hub:4222 --set nats.credentials=hub.creds",
	}, version, func(cmd *cobra.Command, o queue.Options, cluster string) error {
		if err := hub.Add(cmd.Context(), o, cluster); err != nil {
			return err
		}
		_, err := io.WriteString(cmd.OutOrStdout(), hub.MemberPermissions(cluster))
		return err
	}), onHub(&cobra.Command{
		Use:   "remove CLUSTER",
		Short: "Remove the records of a cluster from a hub",
		Long: "Remove the records of a cluster from a hub, and its name. Remove the account of the cluster from the\nconfiguration of NATS first: a " +
			"cluster that can still write begins again with all its records.",
		Example: "  reroll hub remove east --config hub.yaml",
	}, version, func(cmd *cobra.Command, o queue.Options, cluster string) error {
		return hub.Remove(cmd.Context(), o, cluster)
	}), hubPermissionsCommand())
	return cmd
}

// onHub has cmd do something for a cluster in the NATS of a hub: nats of the settings.
func onHub(cmd *cobra.Command, version string, do func(cmd *cobra.Command, o queue.Options, cluster string) error) *cobra.Command {
	var settings config.Flags
	settings.BindFile(cmd.Flags())
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := settings.Read()
		if err == nil && c.NATS.URL == "" {
			err = errors.New("nats.url is required: give --config FILE, or --set nats.url=URL")
		}
		if err := errors.Join(err, reloader.ValidateCluster(args[0])); err != nil {
			return cli.Usage(err)
		}
		o := c.NATS.Options()
		o.Name, o.Logger = "reroll-hub/"+version, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		return do(cmd, o, args[0])
	}
	return cmd
}

func hubPermissionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "permissions [CLUSTER...]",
		Short: "Print the accounts of a hub for the configuration of NATS",
		Long: "Print the accounts of a hub for the configuration of NATS: one that has the records, and one for\neach cluster, which may write its own. " +
			"Passwords come from variables in the environment of the NATS\nserver.",
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
