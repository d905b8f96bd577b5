package cli

import (
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// exception is what a rule decides about some writes, otherwise than another one about those of everybody: writes of these kinds, with these
// verbs, within the limits.
type exception struct {
	kinds, verbs []string
	limits
	level auditv1.Level // how much is told of them
}

// exceptionsOf returns where a policy is silent, or tells the content, of some writes but not of everybody's: in the order of its rules.
func exceptionsOf(policy auditv1.Policy) (found []exception) {
	byRule := make([][]exception, len(policy.Rules))
	for _, kind := range configResources {
		for _, verb := range configVerbs {
			w := write{verb: verb, resource: kind}
			usual := levelOf(policy, w)
			for i, l := range w.decidedFor(policy.Rules) {
				if level := ruleLevel(policy, policy.Rules[i]); level != auditv1.LevelMetadata && level != usual {
					byRule[i] = append(byRule[i], exception{[]string{kind}, []string{verb}, l, level})
				}
			}
		}
	}
	for _, some := range byRule {
		some = joined(some, func(a, b exception) bool { return slices.Equal(a.kinds, b.kinds) })
		some = joined(some, func(a, b exception) bool { return slices.Equal(a.verbs, b.verbs) })
		found = append(found, some...)
	}
	return found
}

// joined makes one of exceptions that are alike and have the same limits.
func joined(some []exception, alike func(a, b exception) bool) (fewer []exception) {
	for _, e := range some {
		i := slices.IndexFunc(fewer, func(other exception) bool { return alike(other, e) && other.limits.String() == e.limits.String() })
		if i < 0 {
			fewer = append(fewer, e)
			continue
		}
		fewer[i].kinds, fewer[i].verbs = union(fewer[i].kinds, e.kinds), union(fewer[i].verbs, e.verbs)
	}
	return fewer
}

// union returns a, and those of b that are not among them.
func union(a, b []string) []string {
	return slices.Concat(a, slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) }))
}

// String says which writes: delete of secrets by carol.
func (e exception) String() string {
	verbs := strings.Join(e.verbs, ", ")
	if len(e.verbs) == len(configVerbs) {
		verbs = "writes"
	}
	return verbs + " of " + strings.Join(e.kinds, " and ") + e.limits.String()
}

// decidedFor returns, by the place of the rule, whose writes of this verb and resource are decided before a rule decides about everybody's.
// The first rule that matches decides: those whom an earlier one is about are not among those of a later one.
func (w write) decidedFor(rules []auditv1.PolicyRule) map[int]limits {
	found := map[int]limits{}
	var decided limits // users and groups of whose writes nothing is left to decide
	for i, rule := range rules {
		l, speaks := w.limitedBy(rule)
		if !speaks {
			continue
		}
		if l.none() {
			break
		}
		if rest, some := l.without(decided); some {
			found[i] = rest
		}
		if len(l.names)+len(l.namespaces) > 0 || len(l.users) > 0 && len(l.groups) > 0 {
			continue // of some writes of these users, or of some in these groups, later rules decide
		}
		decided.users, decided.groups = append(decided.users, l.users...), append(decided.groups, l.groups...)
	}
	return found
}

// without returns the limits without the users and groups that are decided, and whether anybody is left.
func (l limits) without(decided limits) (rest limits, some bool) {
	of := func(these []string) func(string) bool {
		return func(name string) bool {
			return slices.Contains(these, name) || slices.ContainsFunc(groupsOf(name), func(group string) bool { return slices.Contains(decided.groups, group) })
		}
	}
	rest = l
	rest.users = slices.DeleteFunc(slices.Clone(l.users), of(decided.users))
	rest.groups = slices.DeleteFunc(slices.Clone(l.groups), of(decided.groups))
	return rest, (len(rest.users) > 0 || len(l.users) == 0) && (len(rest.groups) > 0 || len(l.groups) == 0)
}

// groupsOf returns the groups that a service account is in, or those of a namespace are all in. Nobody knows those of others.
func groupsOf(name string) []string {
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
		return serviceaccount.MakeGroupNames(namespace)
	}
	if strings.HasPrefix(name, serviceaccount.ServiceAccountGroupPrefix) {
		return []string{serviceaccount.AllServiceAccountsGroup}
	}
	return nil
}

// isChosen reports whether nobody's workloads are meant to roll for such writes: they are those of some namespaces or names, or of Kubernetes
// itself.
func (l limits) isChosen() bool {
	return len(l.names)+len(l.namespaces) > 0 ||
		len(l.users) > 0 && !slices.ContainsFunc(l.users, func(name string) bool { return !isKubernetes(name) }) ||
		len(l.groups) > 0 && !slices.ContainsFunc(l.groups, func(name string) bool { return name != "system:nodes" })
}

// isKubernetes reports whether a user is a part of Kubernetes that changes no content of others. People may have any other name that begins
// with "system:", and other accounts of kube-system may be of controllers that write Secrets.
func isKubernetes(user string) bool {
	controller, isAccount := strings.CutPrefix(user, "system:serviceaccount:kube-system:")
	return isAccount && slices.Contains(controllers, controller) ||
		user == "system:apiserver" || strings.HasPrefix(user, "system:kube-") || strings.HasPrefix(user, "system:node:")
}

// controllers are the service accounts in kube-system that kube-controller-manager uses.
var controllers = strings.Fields(`
	attachdetach-controller bootstrap-signer certificate-controller clusterrole-aggregation-controller cronjob-controller
	daemon-set-controller deployment-controller device-taint-eviction-controller disruption-controller endpoint-controller
	endpointslice-controller endpointslicemirroring-controller ephemeral-volume-controller expand-controller generic-garbage-collector
	horizontal-pod-autoscaler job-controller kube-apiserver-serving-clustertrustbundle-publisher legacy-service-account-token-cleaner
	namespace-controller node-controller persistent-volume-binder pod-garbage-collector podcertificaterequestcleaner
	pv-protection-controller pvc-protection-controller replicaset-controller replication-controller resource-claim-controller
	resourcequota-controller root-ca-cert-publisher route-controller selinux-warning-controller service-account-controller
	service-cidrs-controller service-controller statefulset-controller storage-version-garbage-collector
	storage-version-migrator-controller token-cleaner ttl-after-finished-controller ttl-controller
	validatingadmissionpolicy-status-controller volumeattributesclass-protection-controller`)

// checkExceptions tells whose writes are not reported, or with content, and returns what is to be said of those that nobody misses.
func (f *findings) checkExceptions(check string, policy auditv1.Policy) (except string) {
	for _, e := range exceptionsOf(policy) {
		switch {
		case e.level != auditv1.LevelNone:
			f.add(check, careful, e.String()+" are reported with their content, which Reroll does not want and never keeps", "use the level Metadata; "+policyMend)
		case e.isChosen():
			except += ", except " + e.String()
		default:
			f.add(check, careful, e.String()+" are not reported: an earlier rule has level None, or leaves out the stage ResponseComplete; a sweep alone finds what they change",
				"take them out of that rule; "+policyMend)
		}
	}
	return except
}
