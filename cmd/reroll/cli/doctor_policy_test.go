package cli

import (
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// somebody are users, each with all their groups.
var somebody = []user.DefaultInfo{
	{Name: "carol", Groups: []string{"devs", anybody}},
	{Name: "dave", Groups: []string{anybody}},
	{Name: "system:serviceaccount:eso:eso", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:eso", anybody}},
	{Name: "system:serviceaccount:shop:web", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop", anybody}},
}

// TestNoExceptionIsLeftUnsaid: whenever the API server's own evaluator is silent of a write by somebody, or tells its content, and does not so
// of everybody's, an exception says it. Policies are random.
func TestNoExceptionIsLeftUnsaid(t *testing.T) {
	compared := 0
	for seed := range uint64(1000) {
		p := somePolicy(rand.New(rand.NewPCG(seed, 1)))
		var internal audit.Policy
		if err := auditv1.Convert_v1_Policy_To_audit_Policy(p.DeepCopy(), &internal, nil); err != nil {
			t.Fatal(err)
		}
		judge, found := policy.NewPolicyRuleEvaluator(&internal), exceptionsOf(p)
		for _, w := range someWrites() {
			usual := levelOf(p, write{verb: w.verb, resource: w.resource})
			for _, who := range somebody {
				level := auditv1.Level(judge.EvaluatePolicyRule(authorizer.AttributesRecord{
					User: &who, Verb: w.verb, Namespace: w.namespace, Name: w.name, ResourceRequest: true, APIVersion: "v1", Resource: w.resource,
				}).Level)
				if level == usual || level == auditv1.LevelMetadata {
					continue
				}
				compared++
				if !slices.ContainsFunc(found, func(e exception) bool { return e.level == level && e.covers(w, who) }) {
					t.Fatalf("seed %d: nobody says that %s of %s %s/%s by %s has the level %s: %v\n%+v", seed, w.verb, w.resource, w.namespace, w.name, who.Name, level, found, p.Rules)
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d writes were of interest", compared)
	}
}

// covers reports whether an exception says something of a write by somebody.
func (e exception) covers(w write, who user.DefaultInfo) bool {
	return slices.Contains(e.kinds, w.resource) && slices.Contains(e.verbs, w.verb) && isOf(e.names, w.name) && isOf(e.namespaces, w.namespace) &&
		isOf(e.users, who.Name) && (len(e.groups) == 0 || slices.ContainsFunc(who.Groups, func(g string) bool { return slices.Contains(e.groups, g) }))
}

// someWrites are of objects that rules of somePolicy name, and of others.
func someWrites() (all []write) {
	for _, resource := range configResources {
		for _, verb := range []string{"update", "patch", "delete"} {
			for _, namespace := range []string{"shop", "eso"} {
				for _, name := range []string{"a", "b"} {
					all = append(all, write{verb: verb, resource: resource, namespace: namespace, name: name})
				}
			}
		}
	}
	return all
}

// somePolicy is one that an API server might take.
func somePolicy(r *rand.Rand) (p auditv1.Policy) {
	some := func(chance int, of ...string) (chosen []string) {
		for _, one := range of {
			if r.IntN(chance) == 0 {
				chosen = append(chosen, one)
			}
		}
		return chosen
	}
	for range 2 + r.IntN(4) {
		rule := auditv1.PolicyRule{
			Level:      []auditv1.Level{auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequestResponse}[r.IntN(3)],
			Users:      some(4, "carol", "dave", "system:serviceaccount:eso:eso"),
			UserGroups: some(6, "devs", "system:serviceaccounts", "system:serviceaccounts:eso", anybody),
			Verbs:      some(4, "update", "patch", "get"),
			Namespaces: some(8, "shop", "kube-system", ""),
		}
		for range r.IntN(3) {
			g := auditv1.GroupResources{Group: []string{"", "apps", "*"}[r.IntN(3)], Resources: some(2, "secrets", "configmaps", "pods")}
			if len(g.Resources) > 0 {
				g.ResourceNames = some(3, "a", "c")
			}
			rule.Resources = append(rule.Resources, g)
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}
