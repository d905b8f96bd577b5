package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// retryCommand has something tried again that was given up.
func retryCommand(version string) *cobra.Command {
	var a access
	cmd := &cobra.Command{
		Use:   "retry NAMESPACE/KIND/NAME",
		Short: "Try a workload again that could not be patched, or go on with a config whose rollouts were halted",
		Long: "Try a workload again that could not be patched, now and not only when its turn comes; or go on with the change of a config whose\n" +
			"rollouts were halted, from the first step on and whatever became of those before. Of configs of other clusters that workloads follow, each\n" +
			"of that namespace, kind and name is meant. The same for a workload without this program:\n" +
			"  kubectl -n NAMESPACE annotate KIND NAME --overwrite reroll.dev/retry=<anything new>",
		Example: "  reroll retry shop/Deployment/web\n  reroll retry shop/cm/prices --context east",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := cli.FullName(args[0])
			if err != nil {
				return err
			}
			key, err := control.RetryKey(target)
			if err != nil {
				return cli.Usage(err)
			}
			cluster, err := a.connect(cmd.Context(), version)
			if err != nil {
				return err
			}
			namespace, rest, _ := strings.Cut(target, "/")
			kind, name, _ := strings.Cut(rest, "/")
			if err := a.checkThere(cmd.Context(), cluster, namespace, kind, name); err != nil {
				return err
			}
			now := time.Now().UTC().Format(time.RFC3339)
			return a.writeControl(cmd, cluster, map[string]string{key: now}, cli.Done{What: "retry", Said: "trying " + target + " again", Names: []string{target}})
		},
	}
	a.bind(cmd)
	return cmd
}

// checkThere refuses to write about what is certainly not there: a namespace, or a workload or config in it. An empty namespace is all.
func (a *access) checkThere(ctx context.Context, cluster *kube.Cluster, namespace, kind, name string) error {
	if a.force || namespace == "" {
		return nil
	}
	lacking := cluster.Lacks(ctx, namespace, kind, name)
	if lacking == "" {
		return nil
	}
	if slices.Contains(reloader.ConfigKinds, reloader.ConfigKind(kind)) {
		lacking += " Workloads may follow one of that name of another cluster: then add --force."
	}
	return errors.New(lacking + " Nothing was written. Correct the name, or add --force to write it all the same")
}
