package cli

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/api/view"
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

// checkCluster reports what is wrong with a cluster in the words of its verdict.
func (f *findings) checkCluster(c view.Cluster, now time.Time) {
	check := "cluster " + c.Cluster
	severity := careful
	if !c.Health.IsUp() || len(c.Faults) > 0 || c.ControlProblem != "" {
		severity = wrong
	}
	for _, p := range c.Problems {
		f.add(check, severity, p.Message, p.Next)
	}
	if c.Health != verdict.Healthy && len(c.Problems) == 0 {
		f.add(check, severity, fmt.Sprintf("it is %s, and does not say why", c.Health), "use the version of the server, "+c.Version+", which may know more")
	}
	if !c.Health.IsUp() {
		return
	}
	if c.Drift > 0 {
		f.add(check, careful, fmt.Sprintf("the resync alone found %d changes, for which no hint had come", c.Drift), "look at the audit policy (--audit-policy) and at apiserver_audit_error_total of the API server")
	}
	if c.Attribution != "" {
		f.add(check, skipped, c.Attribution, "")
	}
	if c.Health == verdict.Healthy && c.Drift == 0 {
		f.add(check, fine, fmt.Sprintf("%d workloads, status %s ago", c.Workloads, since(now, c.At)), "")
	}
}

// checkWorkloads reports the workloads that need attention, and where to help them if there are several clusters.
func (f *findings) checkWorkloads(workloads []view.Workload, several bool) {
	waiting := 0
	for _, w := range workloads {
		if !w.Verdict.NeedsAttention {
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
