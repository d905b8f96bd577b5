package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

type checkFlags struct {
	*globals
	pre bool
}

func checkCommand(g *globals) *cobra.Command {
	f := &checkFlags{globals: g}
	cmd := take(&cobra.Command{
		Use:   "check",
		Short: "Check what Reroll needs, and say how to fix what is wrong",
		Long: "Check what Reroll relies on: its API, what its dispatchers report of NATS, the audit feed and\n" +
			"themselves, and the workloads that need attention, or would restart although their strategy avoids\n" +
			"it; with --pre, before an installation, whether you may install it.\nIt exits with 1 if something is wrong or unknown.",
		Example: "  reroll check\n  reroll check --pre\n  reroll check -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}, takesAsk, "namespace")
	cmd.Flags().BoolVar(&f.pre, "pre", false, "check before an installation, without Reroll's API")
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command) error {
	examine := f.examineAPI
	if f.pre {
		examine = f.examineInstall
	}
	found, err := examine(cmd)
	if err != nil {
		return err
	}
	if err := f.print(cmd, answer{body: map[string]any{"findings": found}, names: found.troubled(), show: func(l *lines, _ bool) { found.show(l) }}); err != nil {
		return err
	}
	if found.has(wrong) || found.has(unclear) {
		return errAnswer
	}
	return nil
}

// installed are the resources that the chart makes.
var installed = []kube.Right{
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	{Group: "apps", Resource: "statefulsets", Namespace: "own"},
	{Resource: "serviceaccounts", Namespace: "own"},
	{Resource: "services", Namespace: "own"},
	{Resource: "configmaps", Namespace: "own"},
	{Resource: "secrets", Namespace: "own"},
}

func (f *checkFlags) examineInstall(cmd *cobra.Command) (found findings, _ error) {
	ctx := cmd.Context()
	cluster, err := f.connect(ctx, nil, kube.Scope{})
	if err != nil {
		found.add("cluster", unclear, err.Error(), "set --kubeconfig or --context")
		return found, nil
	}
	found.add("cluster", fine, "the Kubernetes API answers", "")
	for _, right := range installed {
		if right.Verb = "create"; right.Namespace != "" {
			right.Namespace = f.own
		}
		switch may, err := cluster.May(ctx, right); {
		case err != nil:
			found.add("rights", unclear, err.Error(), "")
			return found, nil
		case !may:
			found.add("rights", wrong, "you may not create "+right.Resource, "install Reroll as an administrator of the cluster")
		}
	}
	if !found.has(wrong) {
		found.add("rights", fine, "you may create what the chart installs", "")
	}
	return found, nil
}

// examineAPI reports what dispatchers say of themselves and their clusters.
func (f *checkFlags) examineAPI(cmd *cobra.Command) (found findings, err error) {
	s, err := f.open(cmd.Context(), cmd)
	if code, _ := ExitCode(err); code == ExitUsage {
		return nil, err
	}
	var self view.Self
	if err == nil {
		defer s.end()
		_, err = s.read(s, path("self"), nil, &self)
	}
	if err != nil {
		found.add("API", unclear, err.Error(), "kubectl -n "+f.own+" get pods")
		return found, nil
	}
	if self.Version != f.version {
		found.add("API", careful, fmt.Sprintf("its version is %s, and that of this program %s", self.Version, f.version), "use the same version")
	} else {
		found.add("API", fine, self.Version+" answers at "+s.base.Redacted(), "")
	}
	clusters, err := s.clusters("")
	if err != nil {
		found.add("clusters", unclear, err.Error(), "")
		return found, nil
	}
	if len(clusters.items) == 0 && len(clusters.warnings) == 0 {
		found.add("clusters", wrong, "no dispatcher has published its status", "kubectl -n "+f.own+" get pods")
	}
	for _, c := range clusters.items {
		if f.cluster == "" || c.Cluster == f.cluster {
			found.checkCluster(s, c)
		}
	}
	workloads, err := s.those("unsettled")
	restarts, failed := s.those("restarts")
	for _, warning := range union(clusters.warnings, workloads.warnings) {
		found.add("API", unclear, warning, "")
	}
	if err = cmp.Or(err, failed); err != nil {
		found.add("workloads", unclear, err.Error(), "")
		return found, nil
	}
	found.checkWorkloads(s, workloads.items, len(clusters.items) > 1)
	found.checkRestarts(s, restarts.items)
	return found, nil
}

// checkCluster reports what is wrong with a cluster in the words of its verdict.
func (f *findings) checkCluster(s *session, c view.Cluster) {
	check, severity := "cluster "+c.Cluster, careful
	if !c.Health.IsUp() || len(c.Faults) > 0 || c.ControlProblem != "" {
		severity = wrong
	}
	for _, p := range c.Problems {
		f.add(check, severity, p.Message, s.typed(s.cmd, p.Next))
	}
	if c.Health != verdict.Healthy && len(c.Problems) == 0 {
		f.add(check, severity, fmt.Sprintf("it is %s, and does not say why", c.Health), "use the version of the server, "+c.Version+", which may know more")
	}
	if !c.Health.IsUp() {
		return
	}
	if c.Drift > 0 {
		f.add(check, careful, fmt.Sprintf("the resync alone found %d changes that no hint had reported", c.Drift), "reroll audit check")
	}
	if c.Attribution != "" {
		f.add(check, skipped, c.Attribution, "")
	}
	if c.Health == verdict.Healthy && c.Drift == 0 {
		f.add(check, fine, fmt.Sprintf("%s, status %s ago", count(c.Workloads, "workload"), since(s.now, c.At)), "")
	}
}

// checkWorkloads reports the workloads that need attention, and where to run the command if there are several clusters.
func (f *findings) checkWorkloads(s *session, workloads []view.Workload, several bool) {
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
		f.add("workload "+workloadRef(w.Cluster, w.Workload).String(), wrong, message, s.typed(s.cmd, w.Verdict.Next))
	}
	if waiting == len(workloads) {
		f.add("workloads", fine, fmt.Sprintf("%d wait, and none needs attention", waiting), "")
	}
}

// checkRestarts reports the workloads that ask not to restart, and would, with the first reason.
func (f *findings) checkRestarts(s *session, workloads []view.Workload) {
	for _, w := range workloads {
		for _, e := range w.Edges {
			if e.Restarts != "" {
				ref := workloadRef(w.Cluster, w.Workload).String()
				f.add("workload "+ref, careful, "its strategy is "+w.Strategy+", and a change of "+e.Config.String()+" would restart it: "+e.Restarts, s.typed(s.cmd, "reroll explain "+ref))
				break
			}
		}
	}
}

// grade is what an examination comes to.
type grade string

// The verdicts of a finding.
const (
	fine    grade = "OK"
	careful grade = "Warning"
	wrong   grade = "Wrong"
	skipped grade = "Skipped"
	// unclear is what could not be found out.
	unclear grade = "Unknown"
)

// finding is what was examined, how it is, and how to fix it.
type finding struct {
	Check   string `json:"check"`
	Verdict grade  `json:"verdict"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

type findings []finding

func (f *findings) add(check string, v grade, message, fix string) {
	*f = append(*f, finding{check, v, message, fix})
}

func (f findings) has(v grade) bool {
	return slices.ContainsFunc(f, func(one finding) bool { return one.Verdict == v })
}

var signs = map[grade]cell{
	fine: {"✓ ", good}, careful: {"! ", alert}, wrong: {"✗ ", bad}, skipped: {"- ", faint}, unclear: {"? ", alert},
}

func (f findings) show(l *lines) {
	for _, one := range f {
		l.add(signs[one.Verdict], cell{one.Check + ": ", bold}, text(one.Message))
		if one.Fix != "" {
			l.add(text("    → " + one.Fix))
		}
	}
}

// troubled names the checks that are neither OK nor skipped.
func (f findings) troubled() (checks []string) {
	for _, one := range f {
		if one.Verdict != fine && one.Verdict != skipped {
			checks = union(checks, []string{one.Check})
		}
	}
	return checks
}
