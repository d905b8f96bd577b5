package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// need is some rights on one resource.
type need struct {
	group, resource, name string
	verbs                 []string
	// own says that they are needed in Reroll's own namespace, and otherwise wherever workloads are.
	own bool
	// without says what is missing without them; empty if Reroll cannot do without.
	without string
}

// needs are the rights that the chart grants. Those on leases come with several replicas.
var needs = []need{
	{resource: "configmaps", verbs: []string{"get", "list"}},
	{resource: "configmaps", verbs: []string{"watch"}, without: "changes come with audit events alone"},
	{resource: "secrets", verbs: []string{"get"}},
	{resource: "secrets", verbs: []string{"list", "watch"}, without: "changes come with audit events alone"},
	{group: "apps", resource: "deployments", verbs: []string{"get", "list", "watch", "patch"}},
	{group: "apps", resource: "statefulsets", verbs: []string{"get", "list", "watch", "patch"}},
	{group: "apps", resource: "daemonsets", verbs: []string{"get", "list", "watch", "patch"}},
	{group: "batch", resource: "cronjobs", verbs: []string{"get", "list", "watch"}, without: "CronJobs do not roll"},
	{group: "batch", resource: "jobs", verbs: []string{"get", "list", "watch", "create", "delete"}, without: "Jobs do not roll"},
	{resource: "pods", verbs: []string{"list"}},
	{resource: "events", verbs: []string{"create"}, without: "there are no Events"},
	{resource: "namespaces", name: "kube-system", verbs: []string{"get"}, without: "the identity of the cluster is not checked"},
	{group: "discovery.k8s.io", resource: "endpointslices", name: "kubernetes", verbs: []string{"get"}, without: "canaries go through one API server alone"},
	{resource: "secrets", own: true, verbs: []string{"get", "list", "create", "update", "delete"}},
	{resource: "configmaps", own: true, verbs: []string{"get", "list", "watch", "create", "update", "delete"}},
	{resource: "configmaps", own: true, name: "reroll-canary", verbs: []string{"patch"}, without: "nothing proves an audit feed"},
	{resource: "secrets", own: true, name: "reroll-canary", verbs: []string{"patch"}, without: "nothing proves an audit feed of Secrets"},
	{group: leases, resource: "leases", own: true, name: kube.LeaseName, verbs: []string{"get", "update"}, without: "several replicas elect no leader"},
	{group: leases, resource: "leases", own: true, verbs: []string{"create"}, without: "several replicas elect no leader"},
}

const leases = "coordination.k8s.io"

// judge tells whether a right is granted.
type judge func(context.Context, kube.Right) (bool, error)

// examineRights asks the API server which of the rights of a user it grants.
func (f *checkFlags) examineRights(ctx context.Context) (found findings) {
	if f.as == "" {
		found.add("rights", skipped, "not asked for", "give --as system:serviceaccount:"+f.own+":reroll")
		return found
	}
	cluster, err := f.connectAs(ctx, f.as)
	if err != nil {
		found.add("rights", unclear, err.Error(), "")
		return found
	}
	var namespaces []string
	if f.namespace != "" {
		namespaces = []string{f.namespace}
	}
	found.checkRights(ctx, cluster.May, f.own, namespaces)
	return found
}

// checkRights judges whether all needs are met. own is Reroll's namespace; the workloads are in those given, or anywhere.
func (f *findings) checkRights(ctx context.Context, may judge, own string, namespaces []string) {
	missing := false
	for _, n := range needs {
		refused, err := n.refused(ctx, may, n.places(own, namespaces))
		message := fmt.Sprintf("%s: may not %s", strings.TrimSpace(n.resource+" "+n.name), strings.Join(refused, ", "))
		switch {
		case err != nil:
			f.add("rights", unclear, err.Error(), "")
			return
		case refused == nil:
			continue
		case n.group == leases:
			f.add("rights", skipped, message+": "+n.without, n.fix(own))
			continue
		case n.without != "":
			f.add("rights", careful, message+": "+n.without, n.fix(own))
		default:
			f.add("rights", wrong, message, n.fix(own))
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

// fix returns the rule that is missing.
func (n need) fix(own string) string {
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
