package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// need is some rights on one resource, and what they are for.
type need struct {
	group, resource, name string
	verbs                 []string
	// own says that they are needed in Reroll's own namespace, and otherwise wherever workloads are.
	own bool
	// spare says what is missing without them; empty if Reroll cannot do without.
	spare string
	// ha says that only several replicas need them, to elect the one that is active.
	ha bool
}

// needs are the rights that the chart grants by default, and those that it grants for HA.
var needs = []need{
	{resource: "configmaps", verbs: []string{"get", "list"}},
	{resource: "configmaps", verbs: []string{"watch"}, spare: cannotWatch},
	{resource: "secrets", verbs: []string{"get"}},
	{resource: "secrets", verbs: []string{"list", "watch"}, spare: cannotWatch},
	{group: "apps", resource: "deployments", verbs: []string{"get", "list", "watch", "patch"}},
	{group: "apps", resource: "statefulsets", verbs: []string{"get", "list", "watch", "patch"}},
	{group: "apps", resource: "daemonsets", verbs: []string{"get", "list", "watch", "patch"}},
	{group: "batch", resource: "cronjobs", verbs: []string{"get", "list", "watch"}, spare: "CronJobs are not rolled: name them in --ignored-workload-types"},
	{group: "batch", resource: "jobs", verbs: []string{"get", "list", "watch", "create", "delete"}, spare: "Jobs are not rolled: name them in --ignored-workload-types"},
	{resource: "pods", verbs: []string{"list"}},
	{resource: "events", verbs: []string{"create"}, spare: "no Events tell on a workload why it was rolled"},
	{resource: "namespaces", name: "kube-system", verbs: []string{"get"}, spare: "that the cluster's name stands for it is not checked"},
	{group: "discovery.k8s.io", resource: "endpointslices", name: "kubernetes", verbs: []string{"get"}, spare: "canaries go by way of one API server alone; without an audit feed nothing is missing"},
	{resource: "secrets", own: true, verbs: []string{"get", "list", "create", "update", "delete"}},
	{resource: "configmaps", own: true, verbs: []string{"get", "list", "watch", "create", "update", "delete"}},
	{resource: "configmaps", own: true, name: "reroll-canary", verbs: []string{"patch"}, spare: "nothing tells whether the audit feed works, if there is one"},
	{resource: "secrets", own: true, name: "reroll-canary", verbs: []string{"patch"}, spare: "nothing tells whether the audit feed works for Secrets, if there is one"},
	{group: "coordination.k8s.io", resource: "leases", own: true, ha: true, name: kube.LeaseName, verbs: []string{"get", "update"}, spare: cannotLead},
	{group: "coordination.k8s.io", resource: "leases", own: true, ha: true, verbs: []string{"create"}, spare: cannotLead},
}

const cannotWatch = "configs cannot be watched: with --source=audit they are not, and the audit feed reports changes"

const cannotLead = "one process needs none of it; several replicas cannot choose who leads, and none of them rolls anything"

// judge tells whether a right is granted.
type judge func(context.Context, kube.Right) (bool, error)

// examineRights asks the API server which of the rights it grants.
func (f *doctorFlags) examineRights(s *session) (found findings) {
	if f.as == "" && f.context == "" && f.kubeconfig == "" {
		found.add("rights", skipped, "not asked for", "give --as system:serviceaccount:"+f.own+":reroll, and --context")
		return found
	}
	cluster, err := kube.Connect(s, kube.Options{
		Kubeconfig: f.kubeconfig, Context: f.context, Namespace: f.own, As: f.as, QPS: 50, Burst: 100, UserAgent: "reroll/" + f.version,
		KeepAnnotation: func(string) bool { return false },
	})
	if err != nil {
		found.add("rights", unclear, err.Error(), "")
		return found
	}
	found.checkRights(s, cluster.May, f.own, f.namespaces)
	return found
}

// checkRights judges whether all needs are met. own is Reroll's namespace; the workloads are in those given, or anywhere.
func (f *findings) checkRights(ctx context.Context, may judge, own string, namespaces []string) {
	missing := false
	for _, n := range needs {
		refused, err := n.refused(ctx, may, n.places(own, namespaces))
		switch {
		case err != nil:
			f.add("rights", unclear, err.Error(), "")
			return
		case refused == nil:
			continue
		case n.ha:
			f.add("rights", skipped, n.say(refused)+", for HA: "+n.spare, "with --enable-ha, "+n.mend(own))
			continue
		case n.spare != "":
			f.add("rights", careful, n.say(refused)+": "+n.spare, n.mend(own))
		default:
			f.add("rights", wrong, n.say(refused), n.mend(own))
		}
		missing = true
	}
	if !missing {
		f.add("rights", fine, "all that the chart grants are granted", "")
	}
}

// refused returns the verbs that are not granted in some place, which it names.
func (n need) refused(ctx context.Context, may judge, places []string) (verbs []string, err error) {
	for _, verb := range n.verbs {
		for _, place := range places {
			allowed, err := may(ctx, kube.Right{Verb: verb, Group: n.group, Resource: n.resource, Name: n.name, Namespace: place})
			if err != nil {
				return nil, err
			}
			if !allowed && place != "" {
				verbs = append(verbs, verb+" in "+place)
			} else if !allowed {
				verbs = append(verbs, verb)
			}
		}
	}
	return verbs, nil
}

// places returns the namespaces in which the rights are needed; "" is all, and that of what is in none.
func (n need) places(own string, namespaces []string) []string {
	switch {
	case n.own:
		return []string{own}
	case n.resource == "endpointslices": // those of the API servers
		return []string{"default"}
	case n.resource == "namespaces" || len(namespaces) == 0:
		return []string{""}
	}
	return namespaces
}

func (n need) say(verbs []string) string {
	return fmt.Sprintf("%s: may not %s", strings.TrimSpace(n.resource+" "+n.name), strings.Join(verbs, ", "))
}

// mend returns the rule that is missing.
func (n need) mend(own string) string {
	kind := "ClusterRole"
	if n.own {
		kind = "Role in " + own
	}
	names := ""
	if n.name != "" && !slices.Contains(n.verbs, "create") {
		names = ", resourceNames: [" + n.name + "]"
	}
	return fmt.Sprintf("add to its %s: {apiGroups: [%q], resources: [%s]%s, verbs: [%s]}", kind, n.group, n.resource, names, strings.Join(n.verbs, ", "))
}
