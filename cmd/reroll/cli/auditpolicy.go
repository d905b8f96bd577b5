package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// systemNamespaces are those whose configs change all the time and are seldom anybody's to reload.
var systemNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

// auditPolicyCommand makes the file that tells an API server what to report.
func auditPolicyCommand() *cobra.Command {
	return group("audit-policy", "Make the audit policy that the API server needs", auditPolicyGenerate())
}

func auditPolicyGenerate() *cobra.Command {
	var quiet []string
	var classes, rulesOnly bool
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Print an audit policy that reports who wrote which ConfigMap or Secret, and never its content",
		Long: "Print an audit policy for --audit-policy-file of the API server. It reports writes of ConfigMaps and Secrets at the level Metadata: who,\n" +
			"what, when, and never the content. The first rule that matches decides: put these before the rules of a policy of your own (--rules-only).",
		Example: "  reroll audit-policy generate > audit-policy.yaml\n  reroll audit-policy generate --ignore-namespace kube-public --rules-only",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writePolicy(cmd.OutOrStdout(), quiet, classes, rulesOnly)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&quiet, "ignore-namespace", systemNamespaces, "namespace whose configs are not reported; may be given several times; an empty name is none")
	f.BoolVar(&classes, "secret-provider-classes", true, "report what the Secrets Store CSI driver has rotated, for --enable-csi-integration")
	f.BoolVar(&rulesOnly, "rules-only", false, "print the rules alone, without the last, to be put before those of another policy")
	return cmd
}

// rotations are where the Secrets Store CSI driver writes what it has rotated.
const rotations = "{group: secrets-store.csi.x-k8s.io, resources: [secretproviderclasspodstatuses]}"

// writePolicy writes the policy, with the reason of each rule.
func writePolicy(w io.Writer, quiet []string, classes, rulesOnly bool) error {
	var b strings.Builder
	if !rulesOnly {
		b.WriteString("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitManagedFields: true\nomitStages: [RequestReceived, ResponseStarted]\nrules:\n")
	}
	b.WriteString("  # The controller that copies kube-root-ca.crt into every namespace.\n" +
		"  - level: None\n    users: [\"system:serviceaccount:kube-system:root-ca-cert-publisher\"]\n    resources: [{group: \"\", resources: [configmaps]}]\n")
	if quiet = slices.DeleteFunc(slices.Clone(quiet), func(name string) bool { return name == "" }); len(quiet) > 0 {
		whose := "the system"
		if !slices.Equal(quiet, systemNamespaces) {
			whose = "each namespace"
		}
		fmt.Fprintf(&b, "  # Churn of %s's own configs. Delete this rule to reload workloads there.\n"+
			"  - level: None\n    namespaces: [%s]\n    resources:\n      - {group: \"\", resources: [configmaps, secrets]}\n", whose, strings.Join(quiet, ", "))
		if classes {
			b.WriteString("      - " + rotations + "\n")
		}
	}
	b.WriteString("  # Who wrote which config, never its content.\n" +
		"  - level: Metadata\n    verbs: [create, update, patch, delete, deletecollection]\n    resources: [{group: \"\", resources: [configmaps, secrets]}]\n")
	if classes {
		b.WriteString("  # What the Secrets Store CSI driver has rotated, for --enable-csi-integration.\n" +
			"  - level: Metadata\n    verbs: [update, patch]\n    resources: [" + rotations + "]\n")
	}
	if !rulesOnly {
		b.WriteString("  - level: None\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
