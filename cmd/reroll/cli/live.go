package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/verdict"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// liveTime bounds the look into the cluster for a workload that is not on record.
const liveTime = 5 * time.Second

// lookUp returns the verdict of a workload that Reroll has no record of. It reads the cluster itself if the kubeconfig is of that cluster and
// has the rights.
func (s *session) lookUp(q *question, r ref) view.Verdict {
	named := reloader.WorkloadRef{Kind: r.kind, Namespace: r.namespace, Name: r.name}
	known, _, err := s.cluster(r.cluster)
	c := verdict.Case{Cluster: r.cluster, Workload: named}
	if known.Health == view.Away {
		c.Silence = s.now.Sub(known.UpdatedAt)
	}
	of := view.FromVerdict(verdict.Judge(c))
	if err != nil || known.UID == "" || c.Silence > 0 {
		return of
	}
	ctx, cancel := context.WithTimeout(s, liveTime)
	defer cancel()
	all := dialect.All(dialect.StakaterOptions{})
	cluster, err := kube.Connect(ctx, kube.Options{
		Kubeconfig: q.kubeconfig, Context: q.context, QPS: 50, Burst: 100, UserAgent: s.agent, KeepAnnotation: adoption.Keeps(all), DryRun: true,
	})
	if err != nil || cluster.UID != known.UID {
		return of
	}
	if lacking := cluster.Lacks(ctx, r.namespace, r.kind, r.name); lacking != "" {
		return view.Verdict{State: of.State, Reason: of.Reason, Message: strings.ToUpper(lacking[:1]) + lacking[1:], Next: "kubectl -n " + r.namespace + " get " + strings.ToLower(r.kind)}
	}
	w, err := cluster.Read(ctx, named)
	if err != nil {
		return of
	}
	return seen(adoption.View{All: all, Dialects: all, Strategy: strategy.All[0].Name}, w, of)
}

// seen says of a workload that exists why Reroll has no record of it.
func seen(v adoption.View, w *workload.Workload, of view.Verdict) view.Verdict {
	report, plan := v.Report(w, nil, nil), v.Dialects.Compile(w)
	of.Message = w.Namespace + "/" + w.Kind + "/" + w.Name + " exists, and is not opted in."
	typo := slices.IndexFunc(report.Findings, func(f adoption.Finding) bool { return f.Kind == adoption.Typo })
	switch {
	case typo >= 0:
		f := report.Findings[typo]
		if of.Message += " " + f.Message; !strings.HasSuffix(of.Message, "?") {
			of.Message += ": " + f.Mend
		}
		if !strings.HasSuffix(of.Message, "?") {
			of.Message += "."
		}
	case plan.OptedIn():
		of.Message = w.Namespace + "/" + w.Kind + "/" + w.Name + " exists and asks for configs, and Reroll has no record of it: its namespace or kind is left out, or it has been annotated this moment."
		of.Next = "reroll doctor"
	}
	return of
}
