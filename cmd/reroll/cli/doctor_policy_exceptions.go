package cli

import (
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// exception is what a rule keeps silent of some writes, before another one reports those of everybody else.
type exception struct {
	// writes says which: delete of secrets by carol.
	writes string
	// narrow says that nobody's workloads are meant to roll for them: they are those of some namespaces or names, or of Kubernetes itself.
	narrow bool
}

// exceptionsOf returns what a policy does not report of some, in the order of its rules. What it does not report of anybody is not among
// them.
func exceptionsOf(policy auditv1.Policy) (found []exception) {
	undecided := map[string][]string{}
	for _, resource := range configResources {
		undecided[resource] = configVerbs
	}
	for _, rule := range policy.Rules {
		var kinds, verbs []string
		for _, resource := range configResources {
			some, rest := decidedBy(rule, resource, undecided[resource])
			if undecided[resource] = rest; len(some) > 0 {
				kinds, verbs = append(kinds, resource), some
			}
		}
		if kinds != nil && silent(policy, rule) {
			found = append(found, exception{writesOf(verbs) + " of " + strings.Join(kinds, " and ") + whose(rule), isNarrow(rule)})
		}
	}
	return found
}

// decidedBy returns which writes of a resource a rule decides for some, and which are left to later rules.
func decidedBy(rule auditv1.PolicyRule, resource string, verbs []string) (some, rest []string) {
	for _, verb := range verbs {
		w := write{verb: verb, resource: resource}
		switch everybody := len(rule.Namespaces) == 0 && w.matches(rule); {
		case everybody:
			continue
		case w.mayMatch(rule):
			some = append(some, verb)
		}
		rest = append(rest, verb)
	}
	return some, rest
}

// silent reports whether nobody hears of what a rule decides, once it is done.
func silent(policy auditv1.Policy, rule auditv1.PolicyRule) bool {
	return rule.Level == auditv1.LevelNone || slices.Contains(slices.Concat(policy.OmitStages, rule.OmitStages), auditv1.StageResponseComplete)
}

func writesOf(verbs []string) string {
	if len(verbs) == len(configVerbs) {
		return "writes"
	}
	return strings.Join(verbs, ", ")
}

func isNarrow(rule auditv1.PolicyRule) bool {
	named := func(g auditv1.GroupResources) bool { return len(g.ResourceNames) > 0 }
	if len(rule.Namespaces) > 0 || len(rule.Resources) > 0 && !slices.ContainsFunc(rule.Resources, func(g auditv1.GroupResources) bool { return !named(g) }) {
		return true
	}
	who := slices.Concat(rule.Users, rule.UserGroups)
	return len(who) > 0 && !slices.ContainsFunc(who, func(name string) bool { return !isKubernetes(name) })
}

// isKubernetes reports whether a user or group is a part of Kubernetes. Controllers of others that write Secrets are service accounts of
// other namespaces, and people with every right are in the group system:masters.
func isKubernetes(name string) bool {
	rest, system := strings.CutPrefix(name, "system:")
	account, isAccount := strings.CutPrefix(rest, "serviceaccount")
	switch {
	case isAccount:
		return strings.HasPrefix(account, ":kube-system:") || account == "s:kube-system"
	case rest == "masters" || rest == "authenticated" || rest == "unauthenticated" || rest == "anonymous":
		return false
	}
	return system
}

// checkExceptions tells whose writes are not reported, and returns what is to be said of those that nobody misses.
func (f *findings) checkExceptions(check string, policy auditv1.Policy) (except string) {
	for _, e := range exceptionsOf(policy) {
		if e.narrow {
			except += ", except " + e.writes
			continue
		}
		f.add(check, careful, e.writes+" are not reported: an earlier rule has level None, or leaves out the stage ResponseComplete; a sweep alone finds what they change",
			"take them out of that rule; "+policyMend)
	}
	return except
}
