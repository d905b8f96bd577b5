package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader"
)

// systemNamespaces are those whose configs change all the time and are seldom anybody's to reload.
var systemNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

// reported returns the resources of an audit policy for the kinds of config that are external, or are not.
func reported(external ...bool) (resources string) {
	for _, of := range reloader.ConfigKindTable {
		if slices.Contains(external, of.Kind.External()) {
			resources += fmt.Sprintf("\n      - {group: %q, resources: [%s]}", of.Group, of.TellingResource())
		}
	}
	return resources
}

// reportingRules report who wrote which config, and never its content.
var reportingRules = `  # Who wrote which config, never its content.
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
    resources:` + reported(false) + `
  # What the Secrets Store CSI driver has rotated, for --enable-csi-integration.
  - level: Metadata
    verbs: [update, patch]
    resources:` + reported(true) + `
`

// ownPolicy returns an audit policy that reports writes of configs, and nothing else. Canaries are written to Reroll's own namespace, which therefore
// is never left out.
func ownPolicy(own string) string {
	quiet := slices.DeleteFunc(slices.Clone(systemNamespaces), func(name string) bool { return name == own })
	return `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
omitStages: [RequestReceived, ResponseStarted]
rules:
  # The controller that copies kube-root-ca.crt into every namespace.
  - level: None
    users: ["system:serviceaccount:kube-system:root-ca-cert-publisher"]
    resources: [{group: "", resources: [configmaps]}]
  # Churn of the system's own configs. Delete this rule to reload workloads there.
  - level: None
    namespaces: [` + strings.Join(quiet, ", ") + `]
    resources:` + reported(false, true) + `
` + reportingRules + "  - level: None\n"
}

// withOurRules returns a policy with the reporting rules in front of its own. Its comments are lost.
func withOurRules(content []byte) (string, error) {
	var theirs, ours auditv1.Policy
	if err := yaml.UnmarshalStrict(content, &theirs); err != nil {
		return "", fmt.Errorf("it is not an audit policy: %w", err)
	}
	if _, err := policy.LoadPolicyFromBytes(content); err != nil {
		return "", fmt.Errorf("the API server would not start with it: %w", err)
	}
	if slices.Contains(theirs.OmitStages, auditv1.StageResponseComplete) {
		return "", fmt.Errorf("its omitStages leave out %s for every rule, and Reroll needs that stage: move omitStages into the rules of the policy", auditv1.StageResponseComplete)
	}
	if err := yaml.UnmarshalStrict([]byte("rules:\n"+reportingRules), &ours); err != nil {
		return "", err
	}
	for i := range ours.Rules {
		ours.Rules[i].OmitStages = []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted}
	}
	theirs.Rules = append(ours.Rules, theirs.Rules...)
	merged, err := yaml.Marshal(theirs)
	return string(merged), err
}

// makePolicy makes the policy, with the rules of another one behind ours if there is one.
func (s *auditSetup) makePolicy() error {
	text := ownPolicy(s.content.Namespace)
	if s.policy != "" {
		content, err := os.ReadFile(s.policy)
		if err == nil {
			text, err = withOurRules(content)
		}
		if err != nil {
			return fmt.Errorf("--policy: %s: %w", s.policy, err)
		}
		s.warn("the first rule that matches decides: writes of ConfigMaps and Secrets are reported without content, whatever the rules of %s say", s.policy)
	}
	s.content.Policy = s.to.Header(distribution.PolicyFile) + text
	s.add(distribution.PolicyFile, "what the API server reports", []byte(s.content.Policy))
	return nil
}
