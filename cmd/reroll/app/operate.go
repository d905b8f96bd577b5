package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// access says which cluster an operator's command writes to, and how the command reports what it has done.
type access struct {
	kubeconfig, context, namespace string
	// in is the namespace of the workload that a command is about.
	in string
	// force writes although nothing shows that it does anything.
	force bool
	deed  cli.Deed
}

func (a *access) bindCluster(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig file; in a cluster, that cluster is the default")
	f.StringVar(&a.context, "context", "", "context of the kubeconfig")
	a.deed.Bind(cmd)
}

func (a *access) bindTarget(cmd *cobra.Command) {
	a.bindCluster(cmd)
	cmd.Flags().StringVarP(&a.in, "namespace", "n", "", "the namespace of the workload, if its name leaves that out")
}

func (a *access) bindControl(cmd *cobra.Command) {
	a.bindCluster(cmd)
	cmd.Flags().StringVar(&a.namespace, "reroll-namespace", cmp.Or(kube.PodNamespace(), "reroll"), "Reroll's own namespace; in a pod, that of the pod")
	cmd.Flags().BoolVar(&a.force, "force", false, "write even if Reroll, or the namespace of the workloads, is not found")
}

func (a *access) connect(ctx context.Context, version string) (*kube.Cluster, error) {
	return a.connectKeeping(ctx, version, func(string) bool { return false })
}

// connectKeeping connects for a command that reads annotations of workloads.
func (a *access) connectKeeping(ctx context.Context, version string, keep func(key string) bool) (*kube.Cluster, error) {
	if err := a.deed.Check(); err != nil {
		return nil, err
	}
	return kube.Connect(ctx, kube.Options{
		Kubeconfig: a.kubeconfig, Context: a.context, Namespace: a.namespace, QPS: 5, Burst: 10, UserAgent: "reroll/" + version,
		KeepAnnotation: keep,
	})
}

// changeControl rewrites the ConfigMap reroll-control, and reports what was done. change is given the user's name. workloads is the namespace that must
// exist; empty if none has to.
func (a *access) changeControl(cmd *cobra.Command, version, workloads string, done *cli.Done, change func(d *control.Document, user string) error) error {
	cluster, err := a.connect(cmd.Context(), version)
	if err != nil {
		return err
	}
	if !a.force {
		if !cluster.RunsHere(cmd.Context()) {
			return fmt.Errorf("found no Reroll in namespace %s, which has neither Secret %s nor ConfigMap %s; nothing was written: set --reroll-namespace, or add --force",
				cluster.Namespace, kube.KeySecret, kube.CanaryName)
		}
		if lacking := cluster.Lacks(cmd.Context(), workloads, "", ""); workloads != "" && lacking != "" {
			return errors.New(lacking + " Nothing was written. Correct the name, or add --force to write it all the same")
		}
	}
	user := cluster.WhoAmI(cmd.Context())
	err = cluster.ChangeControl(cmd.Context(), func(data map[string]string) error {
		return control.Edit(data, func(d *control.Document) error { return change(d, user) })
	})
	switch {
	case errors.Is(err, control.ErrUnreadable):
		return fmt.Errorf("%w. Correct it with: kubectl -n %s edit configmap %s", err, cluster.Namespace, control.ConfigMap)
	case err != nil && !errors.Is(err, errNothing):
		return err
	}
	done.Said += fmt.Sprintf(" (ConfigMap %s/%s)", cluster.Namespace, control.ConfigMap)
	done.Names = []string{cluster.Namespace + "/ConfigMap/" + control.ConfigMap}
	return a.deed.Say(cmd.OutOrStdout(), *done)
}

// errNothing means that there is nothing to write.
var errNothing = errors.New("nothing to write")

// freezeCommand holds back every reload of a cluster.
func freezeCommand(version string) *cobra.Command {
	var a access
	var reason string
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Hold back every reload of a cluster, through the ConfigMap " + control.ConfigMap,
		Long: "Hold back every reload of a cluster until it is thawed. The same without this program, if there is no such ConfigMap yet:\n" +
			"  kubectl -n <Reroll's namespace> create configmap " + control.ConfigMap + " --from-literal=" + control.Key + "='freeze: {}'",
		Example: "  reroll freeze --for 2h --reason 'release in progress'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if length < 0 {
				return cli.Usage(errors.New("--for must not be negative"))
			}
			now := time.Now().UTC().Truncate(time.Second)
			f := control.Freeze{Reason: reason, Since: now}
			until, end := "until it is thawed", ""
			if length > 0 {
				f.Until = now.Add(length).Truncate(time.Second)
				end = f.Until.Format(time.RFC3339)
				until = "until " + end
			}
			done := &cli.Done{What: "freeze", Said: "frozen " + until, Details: map[string]string{"until": end, "reason": reason}}
			return a.changeControl(cmd, version, "", done, func(d *control.Document, user string) error {
				f.By = user
				d.Freeze = &f
				return nil
			})
		},
	}
	a.bindControl(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who ask why nothing rolls")
	cmd.Flags().DurationVar(&length, "for", 0, "how long, such as 2h; 0 is until it is thawed")
	return cmd
}

// thawCommand ends what freezeCommand began.
func thawCommand(version string) *cobra.Command {
	var a access
	cmd := &cobra.Command{
		Use:     "thaw",
		Short:   "Let go what freeze holds back",
		Example: "  reroll thaw\n  reroll thaw --reroll-namespace ops",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done := &cli.Done{What: "thaw", Said: "thawed"}
			return a.changeControl(cmd, version, "", done, func(d *control.Document, _ string) error {
				switch f := d.Freeze; {
				case f == nil:
					done.Said = "nothing was frozen"
					return errNothing
				case !f.Until.IsZero() && f.Until.Before(time.Now()):
					done.Said = "removed the freeze, which had ended at " + f.Until.UTC().Format(time.RFC3339)
				}
				d.Freeze = nil
				return nil
			})
		},
	}
	a.bindControl(cmd)
	return cmd
}

// pausing says which workloads a command is about, besides the cluster.
type pausing struct {
	access
	workloads, selector string
	everywhere          bool
}

func (p *pausing) bind(cmd *cobra.Command) {
	p.bindControl(cmd)
	f := cmd.Flags()
	f.StringVarP(&p.workloads, "namespace", "n", "", "the namespace of the workloads")
	f.BoolVarP(&p.everywhere, "all-namespaces", "A", false, "the workloads of all namespaces")
	f.StringVarP(&p.selector, "selector", "l", "", "label selector of the workloads, such as app=cart; all if empty")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	cmd.MarkFlagsOneRequired("namespace", "all-namespaces")
}

// change is changeControl for workloads whose selector can be read.
func (p *pausing) change(cmd *cobra.Command, version, workloads string, done *cli.Done, change func(d *control.Document, user string) error) error {
	if _, err := control.ParseSelector(p.selector); err != nil {
		return cli.Usage(fmt.Errorf("--selector: %w", err))
	}
	return p.changeControl(cmd, version, workloads, done, change)
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

// pauseCommand holds back the reloads of some workloads for a while.
func pauseCommand(version string) *cobra.Command {
	var p pausing
	var reason string
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Hold back the reloads of some workloads for a while, through the ConfigMap " + control.ConfigMap,
		Long: "Hold back the reloads of some workloads for a while. What changes meanwhile rolls once when the pause ends. A pause of the same namespace and\n" +
			"selector is replaced.",
		Example: "  reroll pause -n shop --for 2h --reason 'sale'\n  reroll pause -n shop -l app=cart --for 30m\n  reroll pause -A -l tier=db --for 8h --context east",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if length <= 0 {
				return cli.Usage(errors.New("--for must be positive"))
			}
			now := time.Now()
			until := now.Add(length).UTC().Truncate(time.Second)
			end := until.Format(time.RFC3339)
			done := &cli.Done{What: "pause", Said: "paused " + p.whom() + " until " + end, Details: map[string]string{
				"until": end, "reason": reason, "namespace": p.workloads, "selector": p.selector,
			}}
			return p.change(cmd, version, p.workloads, done, func(d *control.Document, user string) error {
				return d.Pause(control.Pause{Namespace: p.workloads, Selector: p.selector, Until: until, Reason: reason, By: user}, now)
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
			done := &cli.Done{What: "resume", Said: "resumed " + p.whom(), Details: map[string]string{"namespace": p.workloads, "selector": p.selector}}
			return p.change(cmd, version, "", done, func(d *control.Document, _ string) error { // the namespace may be gone
				found, err := d.Resume(p.workloads, p.selector)
				if err == nil && !found {
					err = fmt.Errorf("no pause of %s: `reroll status` lists the pauses", p.whom())
				}
				return err
			})
		},
	}
	p.bind(cmd)
	return cmd
}

// annotate gives a workload an annotation that Reroll acts upon, with a value that it did not have before.
func (a *access) annotate(cmd *cobra.Command, version, target, key, reason string, done cli.Done) error {
	w, err := cli.Workload(target, a.in)
	if err != nil {
		return err
	}
	cluster, err := a.connect(cmd.Context(), version)
	if err != nil {
		return err
	}
	if w.Namespace == "" || w.Kind == "" {
		found, err := cluster.Named(cmd.Context(), w)
		switch {
		case err != nil:
			return fmt.Errorf("look for %s: %w; name it as NAMESPACE/KIND/NAME", target, err)
		case len(found) == 0:
			return fmt.Errorf("there is no workload %s. Nothing was written", target)
		case len(found) > 1:
			var names []string
			for _, w := range found {
				names = append(names, w.Namespace+"/"+w.Kind+"/"+w.Name)
			}
			return cli.ChooseAmong(target, names)
		}
		w = found[0]
	}
	if lacking := cluster.Lacks(cmd.Context(), w.Namespace, w.Kind, w.Name); lacking != "" {
		return errors.New(lacking + " Nothing was written")
	}
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if reason != "" {
		value += " " + reason
	}
	if err := cluster.Annotate(cmd.Context(), w, key, value); err != nil {
		return err
	}
	done.Names = []string{w.Namespace + "/" + w.Kind + "/" + w.Name}
	done.Said = fmt.Sprintf(done.Said, done.Names[0])
	done.Details = map[string]string{"annotation": key, "value": value}
	return a.deed.Say(cmd.OutOrStdout(), done)
}

// annotation shows how kubectl does the same.
func annotation(key string) string {
	return "The same without this program:\n  kubectl -n NAMESPACE annotate KIND NAME --overwrite " + key + "=\"$(date)\""
}

// reloadCommand has a workload rolled once.
func reloadCommand(version string) *cobra.Command {
	var a access
	var reason string
	cmd := &cobra.Command{
		Use:   "reload [NAMESPACE/][KIND/]NAME",
		Short: "Roll an opted-in workload once, although nothing it uses has changed",
		Long: "Roll an opted-in workload once, although nothing it uses has changed, by a new value of its annotation " + dispatcher.RequestedAnnotation + ".\n" +
			"Windows and limits on rates do not hold that back. A freeze or a pause does, until it ends. " + annotation(dispatcher.RequestedAnnotation),
		Example: "  reroll reload shop/Deployment/cart --reason 'new certificates'\n  reroll reload deploy/cart -n shop --context east",
		Args:    cli.AboutOne(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.annotate(cmd, version, args[0], dispatcher.RequestedAnnotation, reason, cli.Done{What: "reload", Said: "asked for a roll of %s"})
		},
	}
	a.bindTarget(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who ask later")
	return cmd
}

// retryCommand has a workload tried again.
func retryCommand(version string) *cobra.Command {
	var a access
	cmd := &cobra.Command{
		Use:   "retry [NAMESPACE/][KIND/]NAME",
		Short: "Try a workload again that could not be patched, or whose stalled rollout halts those of others",
		Long: "Try a workload again that could not be patched, now and not only when its turn comes, by a new value of its annotation " + dispatcher.RetryAnnotation + ".\n" +
			"If rollouts are halted because that of the workload has stalled, the others go on from the first step. If the workload is one of those that wait,\n" +
			"it goes alone. " + annotation(dispatcher.RetryAnnotation),
		Example: "  reroll retry shop/Deployment/web\n  reroll retry web -n shop --context east",
		Args:    cli.AboutOne(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.annotate(cmd, version, args[0], dispatcher.RetryAnnotation, "", cli.Done{What: "retry", Said: "asked for another try of %s"})
		},
	}
	a.bindTarget(cmd)
	return cmd
}
