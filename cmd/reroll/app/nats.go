package app

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// natsCommand is what an administrator of an external NATS needs.
func natsCommand(version string) *cobra.Command {
	cmd := &cobra.Command{Use: "nats", Short: "Prepare an external NATS, and remove clusters from it"}
	cmd.AddCommand(natsSetupCommand(version), natsPermissionsCommand(), natsRemoveCommand(version))
	return cmd
}

// What a NATS may be for, and so the values of --role that are no roles.
const (
	forCluster = "cluster"
	forHub     = "hub"
)

// natsSetup is a run of reroll nats setup.
type natsSetup struct {
	NATS
	url, role, output string
	clusters          []string
	dryRun            bool
}

func natsSetupCommand(version string) *cobra.Command {
	var s natsSetup
	connection := pflag.NewFlagSet("nats", pflag.ContinueOnError)
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Make the streams and consumers for roles that may not make them",
		Long: "Make the streams and consumers for roles that may not make them, or bring them up to date. It can be done again and again, also\n" +
			"while Reroll runs, and makes nothing smaller.",
		Example: "  reroll nats setup --nats-url nats://nats:4222 --cluster east --cluster west --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(connection); err != nil {
				return err
			}
			return s.run(cmd, version)
		},
	}
	connection.StringVar(&s.url, "nats-url", "", "addresses of the NATS, separated by commas")
	s.bindConnection(connection)
	s.bindReplicas(connection)
	f := cmd.Flags()
	f.AddFlagSet(connection)
	s.bindSize(f)
	f.StringSliceVar(&s.clusters, "cluster", nil, "name of a cluster that keeps its hints there; may be given several times")
	f.StringVar(&s.role, "role", forCluster, "what the NATS is for: cluster, or hub")
	f.BoolVar(&s.dryRun, "dry-run", false, "look, and print what would be done")
	f.StringVarP(&s.output, "output", "o", "text", "text, or yaml, which prints the definitions and connects to nothing")
	return cmd
}

func (s *natsSetup) run(cmd *cobra.Command, version string) error {
	layout, err := s.layout()
	if err != nil {
		return err
	}
	o, err := s.options(s.url)
	if err != nil {
		return err
	}
	o.Name, o.Role = "reroll-setup/"+version, queue.RoleAdmin
	if layout.Hub {
		o.Role = queue.RoleHubAdmin
	}
	o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	if s.output == "yaml" {
		return printDefinitions(cmd.OutOrStdout(), o, layout)
	}
	if s.url == "" {
		return errors.New("--nats-url is required: an embedded NATS sets itself up")
	}
	steps, err := queue.Setup(cmd.Context(), o, layout, s.dryRun)
	would := ""
	if s.dryRun {
		would = "would be "
	}
	for _, step := range steps {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s%s\n", step.Object, would, step.Action); err != nil {
			return err
		}
	}
	return err
}

func (s *natsSetup) layout() (queue.Layout, error) {
	if !slices.Contains([]string{"text", "yaml"}, s.output) {
		return queue.Layout{}, fmt.Errorf("--output: %q is not text or yaml", s.output)
	}
	switch s.role {
	case forCluster:
		if len(s.clusters) == 0 {
			return queue.Layout{}, errors.New("--cluster is required: each cluster has a consumer of its own")
		}
	case forHub:
	default:
		return queue.Layout{}, fmt.Errorf("--role: %q is not cluster or hub", s.role)
	}
	return queue.Layout{Clusters: s.clusters, Hub: s.role == forHub}, nil
}

func printDefinitions(w io.Writer, o queue.Options, layout queue.Layout) error {
	definitions, err := queue.DefinitionsOf(o, layout)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(definitions)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func natsPermissionsCommand() *cobra.Command {
	var role string
	var clusters []string
	cmd := &cobra.Command{
		Use:   "permissions",
		Short: "Print what each role needs, as a NATS configuration",
		Long: "Print what each role needs and nothing more, as a NATS configuration: whole accounts for --role=cluster and --role=hub, and one user\n" +
			"for a role. Passwords come from variables in the environment of the NATS server.",
		Example: "  reroll nats permissions --cluster east\n  reroll nats permissions --role dispatch --cluster east",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := permissionsText(role, clusters)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&role, "role", forCluster, "cluster, hub, or one of "+roleNames())
	cmd.Flags().StringSliceVar(&clusters, "cluster", nil, "name of a cluster; may be given several times")
	return cmd
}

func permissionsText(role string, clusters []string) (string, error) {
	forAll := role == string(queue.RoleHubAPI) || role == string(queue.RoleHubAdmin)
	if len(clusters) == 0 && !forAll {
		return "", errors.New("--cluster is required")
	}
	switch {
	case role == forCluster:
		return queue.ClusterAccounts(clusters)
	case role == forHub:
		return queue.HubAccounts(clusters)
	case forAll:
		clusters = []string{""}
	}
	var all strings.Builder
	for _, cluster := range clusters {
		user, err := queue.UserConfig(queue.Role(role), cluster)
		if err != nil {
			return "", fmt.Errorf("--role and --cluster: %w", err)
		}
		all.WriteString(user)
	}
	return all.String(), nil
}

func roleNames() string {
	names := []string{string(queue.RoleServe)}
	for _, r := range queue.Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}
