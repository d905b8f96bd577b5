package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
)

// systemNamespaces are those whose configs change all the time and are seldom anybody's to reload.
var systemNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

// auditPolicy is what goes into the file that tells an API server what to report.
type auditPolicy struct {
	quiet          []string
	classes        bool
	rulesOnly      bool
	distribution   string
	merge          string
	quietWasChosen func() bool
}

func auditPolicyCommand() *cobra.Command {
	var p auditPolicy
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Print an audit policy that reports who wrote which ConfigMap or Secret, and never its content",
		Long: "Print an audit policy for --audit-policy-file of the API server. It reports writes of ConfigMaps and Secrets at the level Metadata: who,\n" +
			"what, when, and never the content. The first rule that matches decides. With --merge, the rules that report stand before those of a policy\n" +
			"that is there already, and --rules-only prints them for that; those that leave something out do not come along unless --ignore-namespace asks\n" +
			"for them, so that nothing is lost to whoever else reads the audit log.",
		Example: "  reroll audit policy > audit-policy.yaml\n  reroll audit policy --for k3s\n" +
			"  reroll audit policy --merge /etc/kubernetes/audit-policy.yaml\n  reroll audit policy --ignore-namespace kube-public --rules-only",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.quiet, "ignore-namespace", systemNamespaces, "namespace whose configs are not reported; may be given several times; an empty name is none, as is the default with --merge and --rules-only")
	f.BoolVar(&p.classes, "secret-provider-classes", true, "report what the Secrets Store CSI driver has rotated, for --enable-csi-integration")
	f.BoolVar(&p.rulesOnly, "rules-only", false, "print the rules that report, to be put before those of another policy")
	f.StringVar(&p.merge, "merge", "", "file of the policy that is there already; ours is put in front of its rules")
	p.quietWasChosen = func() bool { return f.Changed("ignore-namespace") }
	bindDistribution(cmd, &p.distribution)
	cmd.MarkFlagsMutuallyExclusive("merge", "rules-only")
	return cmd
}

// bindDistribution declares --for.
func bindDistribution(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "for", "", "kind of cluster, to say where the file goes: "+strings.Join(distribution.Names(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(distribution.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// findDistribution returns what --for names.
func findDistribution(name string) (distribution.Distribution, error) {
	d, err := distribution.Find(name)
	if err != nil {
		return d, Usage(fmt.Errorf("--for: %w", err))
	}
	return d, nil
}

func (p *auditPolicy) run(cmd *cobra.Command) error {
	header := ""
	if p.distribution != "" {
		d, err := findDistribution(p.distribution)
		if err != nil {
			return err
		}
		if header, err = d.PolicyHeader(); err != nil {
			return err
		}
	}
	text := p.whole()
	switch {
	case p.rulesOnly:
		text = shift(p.front(), "  ")
	case p.merge != "":
		merged, lowered, err := p.mergeFile()
		if err != nil {
			return fmt.Errorf("--merge: %w", err)
		}
		printWarnings(cmd, lowered)
		text = merged
	}
	_, err := io.WriteString(cmd.OutOrStdout(), header+text)
	return err
}

// whole returns a policy of our rules alone.
func (p *auditPolicy) whole() string {
	return "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitManagedFields: true\nomitStages: [RequestReceived, ResponseStarted]\nrules:\n" +
		p.rules() + "  - level: None\n"
}

// rotations are where the Secrets Store CSI driver writes what it has rotated.
const (
	rotationsGroup    = "secrets-store.csi.x-k8s.io"
	rotationsResource = "secretproviderclasspodstatuses"
	rotations         = "{group: " + rotationsGroup + ", resources: [" + rotationsResource + "]}"
)

var rotationsVerbs = []string{"update", "patch"}

// rules returns the rules, with the reason of each.
func (p *auditPolicy) rules() string {
	var b strings.Builder
	b.WriteString("# The controller that copies kube-root-ca.crt into every namespace.\n" +
		"- level: None\n  users: [\"system:serviceaccount:kube-system:root-ca-cert-publisher\"]\n  resources: [{group: \"\", resources: [configmaps]}]\n")
	b.WriteString(p.quietRule())
	b.WriteString(p.reportingRules(""))
	return shift(b.String(), "  ")
}

// front returns the rules for those who have a policy: they report, and leave nothing out unless that was asked for.
func (p *auditPolicy) front() string {
	text := p.reportingRules(ourStages)
	if p.quietWasChosen() {
		text = p.quietRule() + text
	}
	return text
}

// quietRule leaves the configs of some namespaces out.
func (p *auditPolicy) quietRule() string {
	quiet := slices.DeleteFunc(slices.Clone(p.quiet), func(name string) bool { return name == "" })
	if len(quiet) == 0 {
		return ""
	}
	whose := "the system"
	if !slices.Equal(quiet, systemNamespaces) {
		whose = "each namespace"
	}
	rule := fmt.Sprintf("# Churn of %s's own configs. Delete this rule to reload workloads there.\n"+
		"- level: None\n  namespaces: [%s]\n  resources:\n    - {group: \"\", resources: [configmaps, secrets]}\n", whose, strings.Join(quiet, ", "))
	if p.classes {
		rule += "    - " + rotations + "\n"
	}
	return rule
}

// reportingRules report writes. more is a line of each, or empty.
func (p *auditPolicy) reportingRules(more string) string {
	text := "# Who wrote which config, never its content.\n" +
		"- level: Metadata\n  verbs: [" + strings.Join(configVerbs, ", ") + "]\n  resources: [{group: \"\", resources: [" + strings.Join(configResources, ", ") + "]}]\n" + more
	if p.classes {
		text += "# What the Secrets Store CSI driver has rotated, for --enable-csi-integration.\n" +
			"- level: Metadata\n  verbs: [" + strings.Join(rotationsVerbs, ", ") + "]\n  resources: [" + rotations + "]\n" + more
	}
	return text
}

// shift moves lines to the right.
func shift(text, margin string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = margin + line
		}
	}
	return strings.Join(lines, "")
}
