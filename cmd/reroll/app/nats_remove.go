package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// removalSilence is how long a cluster must have told a hub nothing before it is removed: as long as it takes until it counts as away.
const removalSilence = 3 * reloader.ClusterStatusInterval

// maxNameLine bounds what is read of an answer, in bytes.
const maxNameLine = 1024

// natsRemove is a run of reroll nats remove.
type natsRemove struct {
	NATS
	// dataDir is the folder of an embedded NATS, if that is to forget a cluster and no hub.
	url, dataDir, cluster string
	silence               time.Duration
	yes, dryRun           bool
	// out gets what is said, and in has the answer of who is asked.
	out io.Writer
	in  io.Reader
}

func natsRemoveCommand(version string) *cobra.Command {
	var r natsRemove
	connection := pflag.NewFlagSet("nats", pflag.ContinueOnError)
	cmd := &cobra.Command{
		Use:   "remove CLUSTER",
		Short: "Remove a cluster from a hub: its records, its name, and what it told others",
		Long: "Remove a cluster from a hub: its name, which another cluster may have then, its changes, reloads and records of workloads, and what it\n" +
			"told other clusters and they told it. The API of the hub forgets it at once. It can be done again and again, and removes what is left.\n\n" +
			"Start the cluster without --hub-url first, and take its user out of the configuration of the hub: a cluster that is alive is not\n" +
			"removed, and one that still may write to the hub comes back as a new one, with all the records that it keeps.\n\n" +
			"A cluster that was given another --cluster-name keeps in its embedded NATS what it had under the earlier one. With --data-dir that is\n" +
			"removed there, while \"reroll serve\" does not run.",
		Example: "  reroll nats remove east --nats-url tls://hub:4222 --nats-user hub-admin --nats-password-file admin.txt --nats-inbox-prefix _INBOX_hub-admin",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(connection); err != nil {
				return err
			}
			r.cluster, r.out, r.in = args[0], cmd.OutOrStdout(), cmd.InOrStdin()
			return r.run(cmd, version)
		},
	}
	connection.StringVar(&r.url, "nats-url", "", "addresses of the NATS of the hub, separated by commas")
	r.bindConnection(connection)
	f := cmd.Flags()
	f.StringVar(&r.dataDir, "data-dir", "", "folder of the embedded NATS of a cluster, to remove an earlier name of it instead")
	f.AddFlagSet(connection)
	f.DurationVar(&r.silence, "silent-for", removalSilence, "how long the cluster must have told the hub nothing; what is left of that is waited for. 0s removes it also if it is alive")
	f.BoolVar(&r.yes, "yes", false, "do not ask for the name again")
	f.BoolVar(&r.dryRun, "dry-run", false, "look, and print what there is to remove")
	return cmd
}

// errNotSure keeps everything as it is.
var errNotSure = errors.New("nothing was removed")

func (r *natsRemove) run(cmd *cobra.Command, version string) error {
	if err := reloader.ValidateCluster(r.cluster); err != nil {
		return cli.Usage(err)
	}
	if (r.url == "") == (r.dataDir == "") {
		return cli.Usage(errors.New("--nats-url is required: a hub is an external NATS; or --data-dir, and not both"))
	}
	if r.silence < 0 {
		return cli.Usage(errors.New("--silent-for must not be negative"))
	}
	o, err := r.options(r.url)
	if err != nil {
		return err
	}
	o.Name, o.Role, o.StoreDir = "reroll-remove/"+version, queue.RoleHubAdmin, r.dataDir
	o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	steps, err := queue.RemoveFromHub(cmd.Context(), o, queue.Removal{Cluster: r.cluster, Silence: r.silence, Sure: r.sure})
	for _, step := range steps {
		if _, err := fmt.Fprintf(r.out, "%s: %s\n", step.Object, step.Action); err != nil {
			return err
		}
	}
	if r.dryRun && errors.Is(err, errNotSure) {
		return nil
	}
	if err == nil && len(steps) == 0 {
		_, err = fmt.Fprintf(r.out, "%s has nothing of %s\n", r.holder(), r.cluster)
	}
	return err
}

// sure says what there is, and asks for the name unless that is not wanted.
func (r *natsRemove) sure(has queue.Holdings) error {
	if _, err := io.WriteString(r.out, r.described(has)); err != nil {
		return err
	}
	if r.dryRun {
		return errNotSure
	}
	if !r.yes {
		if _, err := io.WriteString(r.out, "All of it is removed. To go on, type the name of the cluster: "); err != nil {
			return err
		}
		answer, err := bufio.NewReader(io.LimitReader(r.in, maxNameLine)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the name of the cluster: %w", err)
		}
		if strings.TrimSpace(answer) != r.cluster {
			return fmt.Errorf("%w: the name that was typed is not %s; --yes asks for none", errNotSure, r.cluster)
		}
	}
	if lacks := r.silence - has.Silent; has.Told > 0 && lacks > 0 {
		_, err := fmt.Fprintf(r.out, "waiting %v to see whether it is silent\n", lacks.Round(time.Second))
		return err
	}
	return nil
}

// holder is who has it.
func (r *natsRemove) holder() string {
	if r.dataDir != "" {
		return "the store"
	}
	return "the hub"
}

// described says what there is of the cluster.
func (r *natsRemove) described(has queue.Holdings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has of %s:\n", r.holder(), r.cluster)
	if has.UID != "" {
		fmt.Fprintf(&b, "  its name, for the cluster with UID %.80q\n", has.UID)
	}
	if has.Told > 0 {
		fmt.Fprintf(&b, "  its status, of %v ago\n", has.Silent.Round(time.Second))
	}
	for _, kind := range queue.HeldKinds {
		if n := has.Messages[kind]; n > 0 {
			fmt.Fprintf(&b, "  %d %s\n", n, kind)
		}
	}
	return b.String()
}
