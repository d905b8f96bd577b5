package app

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// scheduling says which workloads are let go, besides the cluster.
type scheduling struct {
	access
	namespaces    []string
	everywhere    bool
	configuration string
}

func (s *scheduling) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file; in a cluster, that cluster is the default")
	f.StringVar(&s.context, "context", "", "context of the kubeconfig")
	f.StringSliceVarP(&s.namespaces, "namespace", "n", nil, "the namespaces of the workloads")
	f.BoolVarP(&s.everywhere, "all-namespaces", "A", false, "the workloads of all namespaces")
	f.StringVar(&s.configuration, "admission-configuration", "", "the MutatingWebhookConfiguration to delete before, so that nobody is kept anew")
	s.deed.Bind(cmd)
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	cmd.MarkFlagsOneRequired("namespace", "all-namespaces")
}

// run lets go, and says whom.
func (s *scheduling) run(cmd *cobra.Command, version string) error {
	cluster, err := s.connectKeeping(cmd.Context(), version, kube.KeepsScheduling)
	if err != nil {
		return err
	}
	if s.configuration != "" {
		if err := cluster.DropAdmission(cmd.Context(), s.configuration); err != nil {
			return fmt.Errorf("delete the MutatingWebhookConfiguration %s: %w", s.configuration, err)
		}
	}
	namespaces := slices.Clone(s.namespaces)
	if s.everywhere {
		namespaces = []string{""}
	}
	var errs []error
	var released []string
	for _, namespace := range namespaces {
		errs = append(errs, cluster.ReleaseScheduling(cmd.Context(), namespace, func(ref reloader.WorkloadRef) {
			released = append(released, ref.Namespace+"/"+ref.Kind+"/"+ref.Name)
			if s.deed.Plain() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: its pods are scheduled again\n", ref) //nolint:errcheck // it is done all the same
			}
		}))
	}
	done := cli.Done{What: "release-scheduling", Said: fmt.Sprintf("%d workloads let go", len(released)), Names: released}
	return errors.Join(append(errs, s.deed.Say(cmd.OutOrStdout(), done))...) // what was done is told also if something else failed
}

// schedulingCommand undoes what the admission webhook holds back.
func schedulingCommand(version string) *cobra.Command {
	var s scheduling
	cmd := &cobra.Command{
		Use:   "release-scheduling",
		Short: "Have the pods scheduled of workloads that were created before their configs, before Reroll or Wave goes",
		Long: "Have the pods of workloads scheduled that an admission webhook keeps from it until every config is there that they need. Reroll does so by\n" +
			"itself as long as it runs; this is for the time when it does not, or Wave does not any more. Nothing else is written.",
		Example: "  reroll release-scheduling --all-namespaces\n  reroll release-scheduling -n shop",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd, version) },
	}
	s.bind(cmd)
	return cmd
}
