package cli

import (
	"context"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/verdict"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// liveTime bounds the look into the cluster for a workload that is not on record.
const liveTime = 5 * time.Second

// lookUp returns the verdict of a workload that Reroll has no record of. It reads the cluster itself if the kubeconfig is of that cluster and
// has the rights.
func (s *session) lookUp(q *question, r ref) verdict.Verdict {
	named := reloader.WorkloadRef{Kind: r.kind, Namespace: r.namespace, Name: r.name}
	known, _, err := s.cluster(r.cluster)
	c := verdict.Case{Cluster: r.cluster, Workload: named, Now: s.now}
	if err == nil && known.Health != verdict.Unknown {
		c.Status = &known.ClusterStatus
		if known.Health.IsUp() {
			c.Status.StoredAt = s.now // the server has judged it by its own clock
		}
	}
	if err == nil && known.UID != "" && known.Health.IsUp() {
		c.Live = s.liveOf(q, known.UID, named)
	}
	return verdict.Judge(c)
}

// liveOf returns what the cluster with that UID says about a workload; nil if the kubeconfig is not of that cluster, or has no rights.
func (s *session) liveOf(q *question, uid string, named reloader.WorkloadRef) *verdict.Live {
	ctx, cancel := context.WithTimeout(s, liveTime)
	defer cancel()
	all := dialect.All(dialect.StakaterOptions{})
	cluster, err := kube.Connect(ctx, kube.Options{
		Kubeconfig: q.kubeconfig, Context: q.context, QPS: 50, Burst: 100, UserAgent: s.agent, KeepAnnotation: adoption.Keeps(all), DryRun: true,
	})
	if err != nil || cluster.UID != uid {
		return nil
	}
	if lacking := cluster.Lacks(ctx, named.Namespace, named.Kind, named.Name); lacking != "" {
		return &verdict.Live{Lacking: lacking}
	}
	w, err := cluster.Read(ctx, named)
	if err != nil {
		return nil
	}
	return seen(adoption.View{All: all, Dialects: all}, w)
}

// seen says what the annotations of a workload show.
func seen(v adoption.View, w *workload.Workload) *verdict.Live {
	plan := v.Dialects.Compile(w)
	live := &verdict.Live{Asks: plan.OptedIn()}
	for _, f := range v.Mistakes(w) {
		if live.Typo == "" {
			if live.Typo = f.Message; !strings.HasSuffix(f.Message, "?") {
				live.Typo += ": " + f.Fix
			}
		}
	}
	return live
}
