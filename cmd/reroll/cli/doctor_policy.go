package cli

import (
	"fmt"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"
)

// write is a request of somebody who is nobody in particular, of which the API server should tell.
type write struct{ verb, group, resource, namespace string }

// configVerbs and configResources are the writes that Reroll needs to hear of.
var (
	configVerbs     = []string{"create", "update", "patch", "delete", "deletecollection"}
	configResources = []string{"configmaps", "secrets"}
)

// anybody is in this group, as everybody is who has logged in.
const anybody = "system:authenticated"

const policyMend = "reroll audit-policy generate --merge FILE puts the rules that report before those of this file"

// checkPolicy judges whether an audit policy reports every write of a config, and no content, and says whose it does not report. own is Reroll's namespace.
func (f *findings) checkPolicy(content []byte, own string) {
	const check = "audit policy"
	var policy auditv1.Policy
	if err := yaml.Unmarshal(content, &policy); err != nil || policy.Kind != "Policy" {
		f.add(check, wrong, "it is no audit policy: the API server would not start", "reroll audit-policy generate prints one")
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
	if level, complete := levelOf(policy, write{verb: "patch", resource: "configmaps", namespace: own}); level == auditv1.LevelNone || !complete {
		f.add(check, careful, "writes in Reroll's own namespace "+own+" are not reported: every canary stays away", "take the namespace out of the rule of level None, or set --canary-interval 0")
	}
	except := f.checkExceptions(check, policy)
	if len(*f) == before {
		f.add(check, fine, "every write of a ConfigMap or Secret is reported, without content"+except, "")
	}
}

// checkWrites judges the writes of one resource.
func (f *findings) checkWrites(check string, policy auditv1.Policy, resource string) {
	var silent, open []string
	for _, verb := range configVerbs {
		level, complete := levelOf(policy, write{verb: verb, resource: resource, namespace: "default"})
		switch {
		case level == auditv1.LevelNone || !complete:
			silent = append(silent, verb)
		case level != auditv1.LevelMetadata:
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

// levelOf returns the level at which a write is reported, and whether it is when it is done.
func levelOf(policy auditv1.Policy, w write) (level auditv1.Level, complete bool) {
	for _, rule := range policy.Rules {
		if !w.matches(rule) {
			continue
		}
		left := slices.Concat(policy.OmitStages, rule.OmitStages)
		return rule.Level, !slices.Contains(left, auditv1.StageResponseComplete)
	}
	return auditv1.LevelNone, true
}

// matches reports whether a rule speaks of the write, as the API server judges it.
func (w write) matches(rule auditv1.PolicyRule) bool {
	return len(rule.Users) == 0 &&
		anyOf(rule.UserGroups, anybody) &&
		anyOf(rule.Verbs, w.verb) &&
		anyOf(rule.Namespaces, w.namespace) &&
		w.among(rule, func(g auditv1.GroupResources) bool { return len(g.ResourceNames) == 0 })
}

// mayMatch reports whether a rule speaks of the write in some namespace, of some name, by somebody.
func (w write) mayMatch(rule auditv1.PolicyRule) bool {
	return anyOf(rule.Verbs, w.verb) && w.among(rule, func(auditv1.GroupResources) bool { return true })
}

// among reports whether a rule speaks of the write's resource, by those of its entries that count.
func (w write) among(rule auditv1.PolicyRule, counts func(auditv1.GroupResources) bool) bool {
	if len(rule.Resources) == 0 {
		return len(rule.NonResourceURLs) == 0
	}
	return slices.ContainsFunc(rule.Resources, func(g auditv1.GroupResources) bool {
		return counts(g) && (g.Group == w.group || g.Group == "*") &&
			(len(g.Resources) == 0 || slices.ContainsFunc(g.Resources, func(r string) bool { return r == w.resource || r == "*" || r == w.resource+"/*" }))
	})
}

// anyOf reports whether a list has a word, or leaves it open.
func anyOf(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }
