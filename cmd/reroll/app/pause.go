package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// pausing says which workloads a command is about, besides the cluster.
type pausing struct {
	access
	workloads, selector string
	everywhere          bool
}

// bind declares the flags.
func (p *pausing) bind(cmd *cobra.Command) {
	p.access.bind(cmd)
	f := cmd.Flags()
	f.StringVarP(&p.workloads, "namespace", "n", "", "the namespace of the workloads")
	f.BoolVarP(&p.everywhere, "all-namespaces", "A", false, "the workloads of all namespaces")
	f.StringVarP(&p.selector, "selector", "l", "", "label selector of the workloads, such as app=cart; all if empty")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	cmd.MarkFlagsOneRequired("namespace", "all-namespaces")
}

// change rewrites the list of pauses and says what was done. check is asked before.
func (p *pausing) change(cmd *cobra.Command, version string, check func(*kube.Cluster) error, rewrite func(text, user string, selector labels.Selector) (list string, done cli.Done, err error)) error {
	selector, err := labels.Parse(p.selector)
	if err != nil {
		return cli.Usage(fmt.Errorf("--selector: %w", err))
	}
	cluster, err := p.connect(cmd.Context(), version)
	if err != nil {
		return err
	}
	if err := errors.Join(p.checkHere(cmd.Context(), cluster), check(cluster)); err != nil {
		return err
	}
	user := cluster.WhoAmI(cmd.Context())
	var done cli.Done
	err = cluster.ChangeControl(cmd.Context(), func(data map[string]string) (err error) {
		data[control.PausesKey], done, err = rewrite(data[control.PausesKey], user, selector)
		return err
	})
	if err != nil {
		return err
	}
	return p.say(cmd, cluster, done)
}

// whom names the workloads.
func (p *pausing) whom() string {
	which, where := "all workloads", "everywhere"
	if p.selector != "" {
		which = "workloads with " + p.selector
	}
	if p.workloads != "" {
		where = "in " + p.workloads
	}
	return which + " " + where
}

// details adds which workloads are meant.
func (p *pausing) details(more map[string]string) map[string]string {
	more["namespace"], more["selector"] = p.workloads, p.selector
	return more
}

// pauseCommand holds back the reloads of some workloads for a while.
func pauseCommand(version string) *cobra.Command {
	var p pausing
	var reason string
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Hold back the reloads of some workloads for a while, through the ConfigMap " + control.ConfigMap,
		Long: "Hold back the reloads of some workloads for a while, at most 30 days. What changes meanwhile rolls once when the pause ends. A pause of the\n" +
			"same namespace and selector is replaced.",
		Example: "  reroll pause -n shop --for 2h --reason 'sale'\n  reroll pause -n shop -l app=cart --for 30m\n  reroll pause -A -l tier=db --for 8h --context east",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if length <= 0 {
				return cli.Usage(errors.New("--for must be positive"))
			}
			there := func(c *kube.Cluster) error { return p.checkThere(cmd.Context(), c, p.workloads, "", "") }
			return p.change(cmd, version, there, func(text, user string, selector labels.Selector) (string, cli.Done, error) {
				now := time.Now()
				until := now.Add(length).UTC().Truncate(time.Second)
				list, err := control.AddPause(text, control.Pause{Namespace: p.workloads, Selector: selector, Until: until, Reason: reason, By: user}, now)
				end := until.Format(time.RFC3339)
				return list, cli.Done{What: "pause", Said: "paused " + p.whom() + " until " + end, Details: p.details(map[string]string{"until": end, "reason": reason})}, err
			})
		},
	}
	p.bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who ask why nothing rolls")
	cmd.Flags().DurationVar(&length, "for", time.Hour, "how long, such as 2h")
	return cmd
}

// resumeCommand ends what pauseCommand began.
func resumeCommand(version string) *cobra.Command {
	var p pausing
	cmd := &cobra.Command{
		Use:     "resume",
		Short:   "End the pause of a namespace and selector",
		Example: "  reroll resume -n shop\n  reroll resume -n shop -l app=cart",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The pause of a namespace that is gone can be ended, too.
			return p.change(cmd, version, func(*kube.Cluster) error { return nil }, func(text, _ string, selector labels.Selector) (string, cli.Done, error) {
				list, removed, err := control.RemovePauses(text, p.workloads, selector)
				if err == nil && removed == 0 {
					err = fmt.Errorf("no pause of %s: `reroll status` lists those that there are", p.whom())
				}
				return list, cli.Done{What: "resume", Said: "resumed " + p.whom(), Details: p.details(map[string]string{})}, err
			})
		},
	}
	p.bind(cmd)
	return cmd
}
