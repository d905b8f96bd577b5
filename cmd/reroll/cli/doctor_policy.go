package cli

import (
	"fmt"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// configVerbs and configResources are the writes that Reroll needs to hear of.
var (
	configVerbs     = []string{"create", "update", "patch", "delete", "deletecollection"}
	configResources = []string{"configmaps", "secrets"}
)

const policyMend = "reroll audit policy --merge FILE puts the rules that report before those of this file"

// checkPolicy judges whether an audit policy reports every write of a config, and no content, and says whose it does not report. own is Reroll's namespace.
func (f *findings) checkPolicy(content []byte, own string) {
	const check = "audit policy"
	var policy auditv1.Policy
	if err := yaml.Unmarshal(content, &policy); err != nil || policy.Kind != "Policy" {
		f.add(check, wrong, "it is no audit policy: the API server would not start", "reroll audit policy prints one")
		return
	}
	if policy.APIVersion != auditv1.SchemeGroupVersion.String() {
		f.add(check, wrong, fmt.Sprintf("apiVersion %q is not %s: the API server would not start", policy.APIVersion, auditv1.SchemeGroupVersion), "change it")
	}
	if err := yaml.UnmarshalStrict(content, &policy); err != nil {
		f.add(check, careful, "it has fields that no API server knows, or some twice", "look for misspelt names")
	}
	before := len(*f)
	for _, resource := range configResources {
		f.checkWrites(check, policy, resource)
	}
	f.checkCanary(check, policy, own)
	except := f.checkExceptions(check, policy)
	if len(*f) == before {
		f.add(check, fine, "every write of a ConfigMap or Secret is reported, without content"+except, "")
	}
}

// checkWrites judges the writes of one resource.
func (f *findings) checkWrites(check string, policy auditv1.Policy, resource string) {
	var silent, open []string
	for _, verb := range configVerbs {
		switch levelOf(policy, write{verb: verb, resource: resource, namespace: "default"}) {
		case auditv1.LevelNone:
			silent = append(silent, verb)
		case auditv1.LevelRequestResponse:
			open = append(open, verb)
		}
	}
	if silent != nil {
		f.add(check, wrong, fmt.Sprintf("%s of %s is not reported: the first rule that matches has level None, there is none, or the stage ResponseComplete is left out", strings.Join(silent, ", "), resource), policyMend)
	}
	if open != nil {
		f.add(check, careful, fmt.Sprintf("%s of %s is reported with its content, which Reroll does not want and never keeps", strings.Join(open, ", "), resource), "use the level Metadata; "+policyMend)
	}
}

// checkCanary judges whether what Reroll itself writes in its own namespace is reported, whichever of its accounts it has.
func (f *findings) checkCanary(check string, policy auditv1.Policy, own string) {
	for _, account := range accountsOf(policy, own) {
		w := write{verb: "patch", resource: "configmaps", namespace: own, name: kube.CanaryName, user: account, groups: serviceaccount.MakeGroupNames(own)}
		if levelOf(policy, w) == auditv1.LevelNone {
			f.add(check, careful, "what Reroll writes in its own namespace "+own+" is not reported: every canary stays away",
				"take the namespace, or Reroll's account, out of the rule of level None, or set --canary-interval 0")
			return
		}
	}
}

// accountsOf returns the service accounts of a namespace that a policy names, but for those of Kubernetes, and an empty one for all others.
func accountsOf(policy auditv1.Policy, namespace string) []string {
	accounts := []string{""}
	for _, rule := range policy.Rules {
		for _, user := range rule.Users {
			if in, _, err := serviceaccount.SplitUsername(user); err == nil && in == namespace && !isKubernetes(user) {
				accounts = append(accounts, user)
			}
		}
	}
	return accounts
}

// levelOf returns how much is told of a write, as ruleLevel does.
func levelOf(policy auditv1.Policy, w write) auditv1.Level {
	for _, rule := range policy.Rules {
		if w.matches(rule) {
			return ruleLevel(policy, rule)
		}
	}
	return auditv1.LevelNone
}

// ruleLevel returns how much is told of what a rule decides, once it is done: None, Metadata, or RequestResponse if there may be content.
func ruleLevel(policy auditv1.Policy, rule auditv1.PolicyRule) auditv1.Level {
	switch {
	case rule.Level == auditv1.LevelNone || slices.Contains(slices.Concat(policy.OmitStages, rule.OmitStages), auditv1.StageResponseComplete):
		return auditv1.LevelNone
	case rule.Level == auditv1.LevelMetadata:
		return auditv1.LevelMetadata
	}
	return auditv1.LevelRequestResponse
}
