package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader/control"
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
	// lead says that they are for replicas that choose who leads: one process needs none of them, and others cannot do without.
	lead bool
}

// replicas says how many may lead, as far as is known.
type replicas int

const (
	anyReplicas replicas = iota
	oneReplica
	severalReplicas
)

// needs are the rights that the chart grants by default, and those that it grants to several replicas.
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
	{resource: "configmaps", own: true, name: control.ConfigMap, verbs: []string{"list", "watch"}},
	{resource: "configmaps", own: true, name: "reroll-canary", verbs: []string{"patch"}, spare: "nothing tells whether the audit feed works, if there is one"},
	{resource: "configmaps", own: true, verbs: []string{"create"}, spare: "nothing tells whether the audit feed works, if there is one"},
	{group: "coordination.k8s.io", resource: "leases", own: true, lead: true, name: kube.LeaseName, verbs: []string{"get", "update"}, spare: cannotLead},
	{group: "coordination.k8s.io", resource: "leases", own: true, lead: true, verbs: []string{"create"}, spare: cannotLead},
}

const cannotWatch = "configs cannot be watched: with --source=audit they are not, and the audit feed reports changes"

const cannotLead = "several replicas cannot choose who leads, and none of them rolls anything"

// judge tells whether a right is granted.
type judge func(context.Context, kube.Right) (bool, error)

// examineRights asks the API server which of the rights it grants.
func (f *doctorFlags) examineRights(s *session) (found findings) {
	if f.as == "" && f.context == "" && f.kubeconfig == "" {
		found.add("rights", skipped, "not asked for", "give --as system:serviceaccount:"+f.own+":reroll, and --context")
		return found
	}
	cluster, err := f.connectAs(s, f.as)
	if err != nil {
		found.add("rights", unclear, err.Error(), "")
		return found
	}
	found.checkRights(s, cluster.May, f.own, f.namespaces, func() (replicas, error) { return f.replicas(s, cluster) })
	return found
}

// connectAs connects in somebody's name, or if that is empty in one's own.
func (f *doctorFlags) connectAs(s *session, name string) (*kube.Cluster, error) {
	return kube.Connect(s, kube.Options{
		Kubeconfig: f.kubeconfig, Context: f.context, Namespace: f.own, As: name, QPS: 50, Burst: 100, UserAgent: "reroll/" + f.version,
		KeepAnnotation: func(string) bool { return false },
	})
}

// replicas returns what was said of them, or what the pods say. Where these say nothing, or may not be seen, it is any; other errors are
// returned.
func (f *doctorFlags) replicas(s *session, examined *kube.Cluster) (replicas, error) {
	contends, err := f.enableHA, error(nil)
	if !s.cmd.Flags().Changed("enable-ha") {
		contends, err = f.contends(s, examined)
	}
	switch {
	case apierrors.IsForbidden(err), errors.Is(err, kube.ErrNoDispatcher), errors.Is(err, kube.ErrNotSaid):
		return anyReplicas, nil // whoever does not know is told what the rights are for
	case err != nil:
		return anyReplicas, err
	case contends:
		return severalReplicas, nil
	}
	return oneReplica, nil
}

// contends looks at the pods in one's own name: whose rights are examined may not see them where workloads are in namespaces alone.
func (f *doctorFlags) contends(s *session, examined *kube.Cluster) (contends bool, err error) {
	if f.as == "" {
		return examined.Contends(s)
	}
	own, err := f.connectAs(s, "")
	if err == nil {
		contends, err = own.Contends(s)
	}
	if apierrors.IsForbidden(err) {
		return examined.Contends(s)
	}
	return contends, err
}

// checkRights judges whether all needs are met. own is Reroll's namespace; the workloads are in those given, or anywhere. who is asked at most
// once, if a right is not granted that several need.
func (f *findings) checkRights(ctx context.Context, may judge, own string, namespaces []string, who func() (replicas, error)) {
	missing := false
	who = sync.OnceValues(who)
	for _, n := range needs {
		refused, err := n.refused(ctx, may, n.places(own, namespaces))
		switch {
		case err != nil:
			f.add("rights", unclear, err.Error(), "")
			return
		case refused == nil:
			continue
		case n.lead:
			missing = f.checkLead(n.say(refused), n, own, who) || missing
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

// checkLead judges the lack of a right that only several replicas need, and reports whether it may be missed.
func (f *findings) checkLead(lack string, n need, own string, who func() (replicas, error)) bool {
	switch several, err := who(); {
	case err != nil:
		f.add("rights", unclear, lack+", and whether there are several replicas could not be found out: "+err.Error(), "say so with --enable-ha, or --enable-ha=false")
	case several == oneReplica:
		return false
	case several == severalReplicas:
		f.add("rights", wrong, lack+": "+n.spare, n.mend(own))
	default:
		f.add("rights", skipped, lack+": one process needs none of it; "+n.spare, "if there are several, or the role dispatch, "+n.mend(own)+"; and give --enable-ha")
	}
	return true
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
