package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// access says which cluster a command of an operator is for, and how it tells what it has done.
type access struct {
	kubeconfig, context, namespace string
	// force writes although nothing shows that it does anything.
	force bool
	deed  cli.Deed
}

func (a *access) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig file; in a cluster, that cluster is the default")
	f.StringVar(&a.context, "context", "", "context of the kubeconfig")
	f.StringVar(&a.namespace, "reroll-namespace", cmp.Or(kube.PodNamespace(), "reroll"), "Reroll's own namespace; in a pod, that of the pod")
	f.BoolVar(&a.force, "force", false, "write even if Reroll, or the target, is not found")
	a.deed.Bind(cmd)
}

func (a *access) connect(ctx context.Context, version string) (*kube.Cluster, error) {
	if err := a.deed.Check(); err != nil {
		return nil, err
	}
	return kube.Connect(ctx, kube.Options{
		Kubeconfig: a.kubeconfig, Context: a.context, Namespace: a.namespace, QPS: 5, Burst: 10, UserAgent: "reroll/" + version,
		KeepAnnotation: func(string) bool { return false },
	})
}

// freezeCommand holds back every reload of a cluster.
func freezeCommand(version string) *cobra.Command {
	var a access
	var reason string
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Hold back every reload of a cluster, through the ConfigMap " + control.ConfigMap,
		Long: "Hold back every reload of a cluster until it is thawed. The same in an emergency without this program:\n" +
			"  kubectl -n <Reroll's namespace> create configmap " + control.ConfigMap + " --from-literal=" + control.FreezeKey + "=true",
		Example: "  reroll freeze --for 2h --reason 'release in progress'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if length < 0 {
				return cli.Usage(errors.New("--for must not be negative"))
			}
			change := map[string]string{control.FreezeKey: "true", control.ReasonKey: reason, control.UntilKey: "", control.SinceKey: time.Now().UTC().Format(time.RFC3339)}
			until := "until it is thawed"
			if length > 0 {
				at := time.Now().Add(length).UTC().Truncate(time.Second)
				change[control.UntilKey] = at.Format(time.RFC3339)
				until = "until " + change[control.UntilKey]
			}
			return a.setControl(cmd, version, change, cli.Done{
				What: "freeze", Said: "frozen " + until, Details: map[string]string{"until": change[control.UntilKey], "reason": reason},
			})
		},
	}
	a.bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who ask why nothing rolls")
	cmd.Flags().DurationVar(&length, "for", 0, "how long, such as 2h; 0 is until it is thawed")
	return cmd
}

// thawCommand lets go what freezeCommand holds back.
func thawCommand(version string) *cobra.Command {
	var a access
	cmd := &cobra.Command{
		Use:     "thaw",
		Short:   "Let go what freeze holds back",
		Example: "  reroll thaw\n  reroll thaw --reroll-namespace ops",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			change := map[string]string{control.FreezeKey: "", control.ReasonKey: "", control.UntilKey: "", control.SinceKey: ""}
			return a.setControl(cmd, version, change, cli.Done{What: "thaw", Said: "thawed"})
		},
	}
	a.bind(cmd)
	return cmd
}

// setControl writes the ConfigMap, with who freezes if that is what is done, and says what was done.
func (a *access) setControl(cmd *cobra.Command, version string, change map[string]string, done cli.Done) error {
	cluster, err := a.connect(cmd.Context(), version)
	if err != nil {
		return err
	}
	// Whoever froze before is somebody else.
	change[control.ByKey] = ""
	if change[control.FreezeKey] != "" {
		change[control.ByKey] = cluster.WhoAmI(cmd.Context())
	}
	return a.writeControl(cmd, cluster, change, done)
}

func (a *access) writeControl(cmd *cobra.Command, cluster *kube.Cluster, change map[string]string, done cli.Done) error {
	if err := a.checkHere(cmd.Context(), cluster); err != nil {
		return err
	}
	if err := cluster.SetControl(cmd.Context(), change); err != nil {
		return err
	}
	return a.say(cmd, cluster, done)
}

// say tells what was done, and in which ConfigMap, which is what it was done to if nothing else is.
func (a *access) say(cmd *cobra.Command, cluster *kube.Cluster, done cli.Done) error {
	done.Said += fmt.Sprintf(" (ConfigMap %s/%s)", cluster.Namespace, control.ConfigMap)
	name := cluster.Namespace + "/ConfigMap/" + control.ConfigMap
	if done.Names == nil {
		done.Names = []string{name}
	}
	if done.Details == nil {
		done.Details = map[string]string{}
	}
	done.Details["configMap"] = name
	return a.deed.Say(cmd.OutOrStdout(), done)
}

// checkHere refuses to write where nothing shows that Reroll runs: nobody would read it there.
func (a *access) checkHere(ctx context.Context, cluster *kube.Cluster) error {
	if a.force || cluster.RunsHere(ctx) {
		return nil
	}
	return fmt.Errorf("found no Reroll in namespace %s, which has neither Secret %s nor ConfigMap %s; nothing was written: set --reroll-namespace, or add --force",
		cluster.Namespace, kube.KeySecret, kube.CanaryName)
}
