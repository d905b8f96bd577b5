package app

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader/control"
)

// retryCommand has something tried again that was given up.
func retryCommand(version string) *cobra.Command {
	var a access
	cmd := &cobra.Command{
		Use:   "retry NAMESPACE/KIND/NAME",
		Short: "Try a workload again that could not be patched, or go on with a config whose rollouts were halted",
		Long: "Try a workload again that could not be patched, now and not only when its turn comes; or go on with the change of a config whose\n" +
			"rollouts were halted, from the first step on and whatever became of those before. The same for a workload without this program:\n" +
			"  kubectl -n NAMESPACE annotate KIND NAME --overwrite reroll.dev/retry=<anything new>",
		Example: "  reroll retry shop/Deployment/web\n  reroll retry shop/cm/prices -n reroll",
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
			now := time.Now().UTC().Format(time.RFC3339)
			return a.setControl(cmd, version, map[string]string{key: now}, "trying "+target+" again")
		},
	}
	a.bind(cmd)
	return cmd
}
