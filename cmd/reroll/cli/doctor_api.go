package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// examineAPI asks what dispatchers say of themselves and their clusters.
func (f *doctorFlags) examineAPI(s *session) (found findings) {
	if s.client == nil {
		return nil
	}
	v, err := s.self()
	if err != nil {
		found.add("API", unclear, err.Error(), "kubectl -n "+f.own+" get pods")
		return found
	}
	if v.Version != f.version {
		found.add("API", careful, fmt.Sprintf("it is %s, and this program %s", v.Version, f.version), "use the same version to see all that there is")
	} else {
		found.add("API", fine, v.Version+" answers at "+s.base.Redacted(), "")
	}
	clusters, err := list[view.Cluster](s, s.client, "/api/v1/clusters", nil, 0, silently)
	if err != nil {
		found.add("clusters", unclear, err.Error(), "")
		return found
	}
	if len(clusters.items) == 0 && len(clusters.warnings) == 0 {
		found.add("clusters", wrong, "no dispatcher has published its status", "start reroll serve, or reroll dispatch with the same NATS")
	}
	for _, c := range clusters.items {
		found.checkCluster(c, s.now)
	}
	workloads, err := s.unsettled()
	for _, warning := range union(clusters.warnings, workloads.warnings) {
		found.add("API", unclear, warning, "")
	}
	if err != nil {
		found.add("workloads", unclear, err.Error(), "")
		return found
	}
	found.checkWorkloads(workloads.items, len(clusters.items) > 1)
	return found
}

// checkCluster judges what a dispatcher says, and says what to look at.
func (f *findings) checkCluster(c view.Cluster, now time.Time) {
	check := "cluster " + c.Name
	before := len(*f)
	if c.Health == view.Away || c.Health == view.Unknown {
		f.add(check, wrong, strings.Join(c.Problems, " "), "look at the log of its dispatcher: is it running, and does it reach NATS?")
		return
	}
	if !c.Ready {
		f.add(check, careful, "its dispatcher is not ready: baselines are still recorded", "wait; if it lasts, its log names what cannot be read")
	}
	for _, fault := range c.Faults {
		f.add(check, wrong, fault.Part+" of its dispatcher: "+fault.Reason, "see Readiness in docs/operations.md")
	}
	for _, feed := range c.Feeds {
		f.checkFeed(check, feed, c.Attribution, now)
	}
	if len(c.Feeds) == 0 {
		f.add(check, skipped, cmp.Or(c.Attribution, "no canaries are sent, so that nothing tells whether audit events come"), "set --canary-interval, if it has an audit feed")
	}
	if c.Drift > 0 {
		f.add(check, careful, fmt.Sprintf("%d changes were found by the sweep alone, on which no hint had come", c.Drift), "look at the audit policy (--audit-policy) and at apiserver_audit_error_total of the API server")
	}
	f.checkProblems(check, c)
	if c.Health != view.Healthy && !slices.ContainsFunc((*f)[before:], func(one finding) bool { return one.Verdict == wrong || one.Verdict == careful }) {
		f.add(check, careful, fmt.Sprintf("it is %s, and does not say why", c.Health), "use the version of the server, "+c.Version+", which may know more")
	}
	if len(*f) == before || len(*f) == before+1 && (*f)[before].Verdict == skipped {
		f.add(check, fine, fmt.Sprintf("%d workloads, status %s ago", c.Workloads, since(now, c.UpdatedAt)), "")
	}
}

// checkProblems tells of what makes a cluster Degraded and was not told of yet.
func (f *findings) checkProblems(check string, c view.Cluster) {
	for _, problem := range c.Problems {
		switch {
		case strings.HasPrefix(problem, "ConfigMap "+control.ConfigMap):
			f.add(check, wrong, problem, "kubectl -n "+cmp.Or(c.Namespace, "reroll")+" edit configmap "+control.ConfigMap)
		case !toldOtherwise(c, problem):
			f.add(check, careful, problem, "reroll clusters "+c.Name+" -o yaml says more; of records that are missing see docs/alerts-and-metrics.md#rerollhubgap")
		}
	}
}

// toldOtherwise reports whether a problem is in the words of the server what the doctor has in words of its own.
func toldOtherwise(c view.Cluster, problem string) bool {
	return !c.Ready && strings.HasPrefix(problem, "The dispatcher is still recording ") ||
		slices.ContainsFunc(c.Faults, func(fault view.Fault) bool { return problem == fault.Part+": "+fault.Reason }) ||
		slices.ContainsFunc(c.Feeds, func(feed view.Feed) bool {
			return (feed.State == "silent" || feed.State == "refused") && strings.Contains(problem, " API server at "+feed.Address)
		})
}

// checkFeed judges what canaries tell about the audit events of one API server.
func (f *findings) checkFeed(check string, feed view.Feed, attribution string, now time.Time) {
	name := "audit events of " + feed.Address
	switch feed.State {
	case "heard":
		f.add(check, fine, name+" come in: a canary came back "+since(now, feed.LastAt)+" ago", "")
	case "notSetUp":
		f.add(check, skipped, name+" do not come in. "+attribution, "reroll audit setup --for DISTRIBUTION, if you want to know the user")
	case "silent":
		f.add(check, wrong, name+" do not come in", "give the API server --audit-policy-file and --audit-webhook-config-file; reroll audit setup writes both, and reroll audit check follows the first event")
	case "refused":
		f.add(check, wrong, feed.Address+" takes no canaries", "grant patch on the ConfigMap and the Secret reroll-canary; examine the rights with --as")
	default:
		f.add(check, skipped, "no canary has come back yet by way of "+feed.Address, "wait for two canary intervals")
	}
}

// checkWorkloads reports the workloads that need attention, and where to help them if there are several clusters.
func (f *findings) checkWorkloads(workloads []view.Workload, several bool) {
	waiting := 0
	for _, w := range workloads {
		if !verdict.State(w.Verdict.State).NeedsAttention() {
			waiting++
			continue
		}
		message := string(w.Verdict.State) + ": " + w.Verdict.Message
		if several && w.Verdict.Next != "" {
			message += " The command needs the --context of cluster " + w.Cluster + "."
		}
		f.add("workload "+workloadRef(w.Cluster, w.Workload).String(), wrong, message, w.Verdict.Next)
	}
	if waiting == len(workloads) {
		f.add("workloads", fine, fmt.Sprintf("%d wait, and none needs attention", waiting), "")
	}
}
