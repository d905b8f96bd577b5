package cli

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	pluginaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// configVerbs and configResources are the writes that Reroll needs to hear of.
var (
	configVerbs     = []string{"create", "update", "patch", "delete", "deletecollection"}
	configResources = []string{"configmaps", "secrets"}
)

const policyFix = "reroll audit setup --for KIND --policy FILE puts the rules that report before those of this file"

// writers are whose writes a policy is asked about.
var writers = []struct {
	name string
	user.DefaultInfo
}{
	{"a user", user.DefaultInfo{Name: "sample-user", Groups: []string{user.AllAuthenticated}}},
	{"an administrator", user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{"kubeadm:cluster-admins", user.SystemPrivilegedGroup, user.AllAuthenticated}}},
	{"a controller", accountIn("default", "sample-controller")},
}

// accountIn returns a service account as the API server authenticates it.
func accountIn(namespace, name string) user.DefaultInfo {
	return user.DefaultInfo{Name: serviceaccount.MakeUsername(namespace, name), Groups: append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated)}
}

// checkPolicy judges whether an audit policy reports writes of configs by several kinds of users, and no content. own is Reroll's namespace.
func (f *findings) checkPolicy(content []byte, own string) {
	const check = "audit policy"
	loaded, err := policy.LoadPolicyFromBytes(content)
	if err != nil {
		f.add(check, wrong, "the API server would not start: "+err.Error(), "reroll audit setup writes a policy")
		return
	}
	before := len(*f)
	if err := yaml.UnmarshalStrict(content, &auditv1.Policy{}); err != nil {
		f.add(check, careful, "the API server ignores a part of it: "+err.Error(), "check the names of its fields")
	}
	rules := policy.NewPolicyRuleEvaluator(loaded)
	for _, resource := range configResources {
		f.checkWrites(check, rules, resource)
	}
	account := accountIn(own, "reroll")
	for _, resource := range []string{"configmaps", "secrets"} {
		write := authorizer.AttributesRecord{User: &account, Verb: "patch", Resource: resource, Namespace: own, Name: kube.CanaryName}
		if reported(rules, &write) == audit.LevelNone {
			f.add(check, careful, "it does not report what Reroll writes to "+resource+" in its own namespace "+own+": no canary comes back",
				"take the namespace, or Reroll's account, out of the rule of level None, or set ingest.canaryInterval 0")
			break
		}
	}
	if len(*f) == before {
		f.add(check, fine, "it reports writes of ConfigMaps and Secrets by users, administrators and controllers, without content", "")
	}
}

// checkWrites judges the writes of one resource. It reports a later writer only where the policy treats the first one differently.
func (f *findings) checkWrites(check string, rules pluginaudit.PolicyRuleEvaluator, resource string) {
	for i, who := range writers {
		var silent, open []string
		for _, verb := range configVerbs {
			write := authorizer.AttributesRecord{User: &who.DefaultInfo, Verb: verb, Resource: resource, Namespace: "default", Name: "sample"}
			level := reported(rules, &write)
			write.User = &writers[0].DefaultInfo
			switch {
			case level == audit.LevelMetadata || i > 0 && level == reported(rules, &write):
			case level == audit.LevelNone:
				silent = append(silent, verb)
			default:
				open = append(open, verb)
			}
		}
		if silent != nil {
			f.add(check, wrong, fmt.Sprintf("it does not report %s of %s by %s: the first rule that matches has level None or omits the stage ResponseComplete, or no rule matches",
				strings.Join(silent, ", "), resource, who.name), policyFix)
		}
		if open != nil {
			f.add(check, careful, fmt.Sprintf("it reports %s of %s by %s with content, which Reroll does not need and never stores", strings.Join(open, ", "), resource, who.name),
				"use the level Metadata; "+policyFix)
		}
	}
}

// reported returns how much a policy reports of a finished write of an object: nothing, its metadata, or content.
func reported(rules pluginaudit.PolicyRuleEvaluator, write *authorizer.AttributesRecord) audit.Level {
	write.ResourceRequest, write.APIVersion = true, "v1"
	rule := rules.EvaluatePolicyRule(write)
	if slices.Contains(rule.OmitStages, audit.StageResponseComplete) {
		return audit.LevelNone
	}
	return rule.Level
}
