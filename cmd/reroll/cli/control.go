package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

type pausing struct {
	*globals
	selector, reason string
	length           time.Duration
	force            bool
}

func (p *pausing) bind(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.selector, "selector", "l", "", "label selector of the workloads, such as app=web (default: all)")
	cmd.Flags().BoolVar(&p.force, "force", false, "write even if Reroll, or the namespace of the workloads, is not found")
}

// change rewrites the ConfigMap reroll-control, and says so. edit is given the user's name. workloads is the namespace that must exist; empty if none has to.
func (p *pausing) change(cmd *cobra.Command, said, workloads string, edit func(d *control.Document, user string) error) error {
	if p.namespace == "" && !p.everywhere {
		return usagef("--namespace or --all-namespaces is required")
	}
	if _, err := labels.Parse(p.selector); err != nil {
		return usagef("--selector: %w", err)
	}
	ctx := cmd.Context()
	cluster, err := p.connect(ctx, nil, kube.Scope{})
	switch {
	case err != nil:
		return err
	case !p.force && !cluster.RunsHere(ctx):
		return fmt.Errorf("found no Reroll in namespace %s, which has neither Secret %s nor ConfigMap %s; nothing was written: set --reroll-namespace, or add --force",
			cluster.Namespace, kube.KeySecret, kube.CanaryName)
	case !p.force && workloads != "" && !cluster.HasNamespace(ctx, workloads):
		return fmt.Errorf("there is no namespace %s. Nothing was written. Correct the name, or add --force", workloads)
	}
	user := cluster.WhoAmI(ctx)
	err = cluster.ChangeControl(ctx, func(data map[string]string) error {
		return control.Edit(data, func(d *control.Document) error { return edit(d, user) })
	})
	if err != nil {
		return err
	}
	return p.done(cmd, cmd.Name(), p.own+"/ConfigMap/"+control.ConfigMap, said+" (ConfigMap "+p.own+"/"+control.ConfigMap+")")
}

// all reports whether every workload of the cluster is meant.
func (p *pausing) all() bool { return p.everywhere && p.selector == "" }

func pauseCommand(g *globals) *cobra.Command {
	p := &pausing{globals: g}
	cmd := take(&cobra.Command{
		Use:   "pause",
		Short: "Hold back rolls of all workloads, a namespace or some workloads",
		Long: "Hold back the rolls of a namespace, of some workloads, or with -A of the whole cluster. Changes made\nmeanwhile roll once at the end.\n" +
			"It writes the ConfigMap " + control.ConfigMap + " with your rights; the same with kubectl, if there is no such\nConfigMap yet:\n" +
			"  kubectl -n reroll create configmap " + control.ConfigMap + " --from-literal=" + control.Key + "='freeze: {}'",
		Example: "  reroll pause -n shop --for 2h --reason sale\n  reroll pause -n shop -l app=web\n  reroll pause -A --reason 'incident 7'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.pause(cmd, time.Now().UTC()) },
	}, takesCluster, takesScope, "reroll-namespace,output")
	p.bind(cmd)
	cmd.Flags().StringVar(&p.reason, "reason", "", "why, for those who ask why nothing rolls")
	cmd.Flags().DurationVar(&p.length, "for", time.Hour, "how long, such as 2h; with -A alone, until resumed")
	return cmd
}

func (p *pausing) pause(cmd *cobra.Command, now time.Time) error {
	if p.length <= 0 {
		return usagef("--for must be positive")
	}
	end := time.Time{}
	if !p.all() || cmd.Flags().Changed("for") {
		end = now.Add(p.length).Truncate(time.Second)
	}
	return p.change(cmd, "paused "+whom(p.namespace, p.selector)+until(end), p.namespace, func(d *control.Document, user string) error {
		pause := reloader.Pause{Namespace: p.namespace, Selector: p.selector, Until: end, Reason: p.reason, By: user, Since: now.Truncate(time.Second)}
		if p.all() {
			d.Freeze = &pause
			return nil
		}
		return d.Pause(pause, now)
	})
}

func resumeCommand(g *globals) *cobra.Command {
	p := &pausing{globals: g}
	cmd := take(&cobra.Command{
		Use:     "resume",
		Short:   "End a pause or a freeze",
		Long:    "End the pause of the same namespace and selector; with -A alone, that of the whole cluster.",
		Example: "  reroll resume -n shop\n  reroll resume -n shop -l app=web\n  reroll resume -A",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.resume(cmd) },
	}, takesCluster, takesScope, "reroll-namespace,output")
	p.bind(cmd)
	return cmd
}

func (p *pausing) resume(cmd *cobra.Command) error {
	return p.change(cmd, "resumed "+whom(p.namespace, p.selector), "", func(d *control.Document, _ string) error { // the namespace may be gone
		found, err := d.Resume(p.namespace, p.selector)
		if p.all() && d.Freeze != nil {
			d.Freeze, found = nil, true
		}
		if err == nil && !found {
			err = fmt.Errorf("found no pause of %s. List the pauses with: %s", whom(p.namespace, p.selector), p.typed(cmd, "reroll status"))
		}
		return err
	})
}

// annotating gives a workload an annotation that Reroll acts upon, with a value that it did not have before.
type annotating struct {
	*globals
	key, what, said, reason string
}

// command completes a command that annotates one workload.
func (a *annotating) command(cmd *cobra.Command) *cobra.Command {
	cmd.Use, cmd.Args, cmd.ValidArgsFunction = a.what+" "+workloadForm, oneObject, a.complete(workloadNames, 1)
	cmd.Long += "It annotates the workload with your\nrights. The same with kubectl:\n  kubectl -n shop annotate deploy/web --overwrite " + a.key + "=\"$(date)\""
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.run(cmd, one(args)) }
	return take(cmd, takesCluster, "namespace,output")
}

func reloadCommand(g *globals) *cobra.Command {
	a := &annotating{globals: g, key: dispatcher.RequestedAnnotation, what: "reload", said: "asked for a roll of "}
	cmd := a.command(&cobra.Command{
		Short:   "Roll an opted-in workload once, although nothing has changed",
		Long:    "Roll an opted-in workload once, although nothing has changed. Windows and limits on rates do not\nhold it back, a pause does.\n",
		Example: "  reroll reload deploy/web -n shop --reason 'new certificates'\n  reroll reload shop/Deployment/web --context east",
	})
	cmd.Flags().StringVar(&a.reason, "reason", "", "why, for those who ask later")
	return cmd
}

func retryCommand(g *globals) *cobra.Command {
	a := &annotating{globals: g, key: dispatcher.RetryAnnotation, what: "retry", said: "asked for another try of "}
	return a.command(&cobra.Command{
		Short: "Retry a workload that failed, or whose stalled rollout halts others",
		Long: "Try again, now, a workload that could not be patched. If its stalled rollout halts those of others,\nthey continue; if it is one of " +
			"those that wait, it goes alone. ",
		Example: "  reroll retry deploy/web -n shop\n  reroll retry shop/Deployment/web --context east",
	})
}

func (a *annotating) run(cmd *cobra.Command, name string) error {
	r, err := a.placed(name, workloadKinds())
	if err == nil && r.cluster != "" {
		err = usagef("%.300q is not %s, such as shop/Deployment/web", name, workloadForm)
	}
	w := reloader.WorkloadRef{Kind: r.kind, Namespace: r.namespace, Name: r.name}
	if err = cmp.Or(err, Usage(w.Validate())); err != nil {
		return err
	}
	cluster, err := a.connect(cmd.Context(), nil, kube.Scope{})
	if err != nil {
		return err
	}
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if a.reason != "" {
		value += " " + a.reason
	}
	if err := cluster.Annotate(cmd.Context(), w, a.key, value); err != nil {
		return err
	}
	full := workloadRef("", w).String()
	return a.done(cmd, a.what, full, a.said+full)
}
