package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
)

// auditSettingsCommand makes the piece of a distribution's configuration that gives its API server the other two files.
func auditSettingsCommand() *cobra.Command {
	var name, policy, kubeconfig string
	cmd := &cobra.Command{
		Use:   "settings",
		Short: "Print the piece of a distribution's configuration that has its API server report to Reroll",
		Long: "Print the piece of a distribution's own configuration that gives its API server the policy and the kubeconfig, with the flags: to be merged\n" +
			"into what is there. Some distributions hold the files themselves in it. Where the API server can be given none, it is what has Reroll hear of\n" +
			"changes another way.",
		Example: "  reroll audit settings --for kubeadm\n  reroll audit settings --for talos --audit-policy audit-policy.yaml --audit-kubeconfig audit-webhook.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := findDistribution(name)
			if err != nil {
				return err
			}
			own := auditPolicy{quiet: systemNamespaces, classes: true}
			policyText, err := readOr(policy, own.whole())
			if err != nil {
				return fmt.Errorf("--audit-policy: %w", err)
			}
			kubeconfigText, err := readOr(kubeconfig, "")
			if err != nil {
				return fmt.Errorf("--audit-kubeconfig: %w", err)
			}
			content := distribution.Standard()
			content.Policy, content.Kubeconfig = policyText, kubeconfigText
			text, err := d.WriteSettings(content)
			if err != nil {
				return Usage(fmt.Errorf("--audit-kubeconfig: %w", err))
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	bindDistribution(cmd, &name)
	f := cmd.Flags()
	f.StringVar(&policy, "audit-policy", "", "file of the policy, where the configuration holds it; if empty, the one that reroll audit policy prints")
	f.StringVar(&kubeconfig, "audit-kubeconfig", "", "file of the kubeconfig, where the configuration holds it")
	_ = cmd.MarkFlagRequired("for")
	return cmd
}

// readOr returns the content of a file, or what stands for it if none is named.
func readOr(file, otherwise string) (string, error) {
	if file == "" {
		return otherwise, nil
	}
	content, err := readFile(file)
	return string(content), err
}
