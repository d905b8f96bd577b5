package projection

import (
	"unique"

	"github.com/reroll-dev/reroll/reloader"
)

// The functions here make records share the strings that recur in very many of them: names of clusters, kinds and namespaces,
// and what describes actors. A decoded record has its own copy of each, which is most of its size. Strings that seldom recur
// are left alone: to share one costs more than a second copy.

func intern[S ~string](s *S) { *s = S(unique.Make(string(*s)).Value()) }

func internConfig(c *reloader.Config) {
	intern(&c.Kind)
	intern(&c.Namespace)
	intern(&c.Name)
}

func internRef(w *reloader.WorkloadRef) {
	intern(&w.Kind)
	intern(&w.Namespace)
	intern(&w.Name)
}

func internKeys(keys []reloader.KeyChange) {
	for i := range keys {
		intern(&keys[i].Key)
		intern(&keys[i].Op)
	}
}

func internCandidates(candidates []reloader.Candidate) {
	for i := range candidates {
		c := &candidates[i]
		intern(&c.Actor.User)
		intern(&c.Actor.AuthenticatedUser)
		intern(&c.Actor.UserAgent)
		intern(&c.Actor.SourceIP)
		intern(&c.Actor.FieldManager)
		intern(&c.Verb)
		intern(&c.Basis)
	}
}

// internReload shares what packing leaves as it is.
func internReload(r *reloader.Reload) {
	if r.Rollout != nil {
		rollout := *r.Rollout
		intern(&rollout.Result)
		intern(&rollout.Message)
		r.Rollout = &rollout
	}
	for i := range r.Causes {
		internCause(&r.Causes[i])
	}
}

func internCause(c *reloader.Cause) {
	intern(&c.Why)
	intern(&c.Clause)
	intern(&c.Source)
	intern(&c.Container)
	internConfig(&c.Config)
	internKeys(c.Keys)
	internCandidates(c.Candidates)
}

func internWorkload(w *reloader.WorkloadRecord) {
	intern(&w.Cluster)
	intern(&w.Dialect)
	intern(&w.Strategy)
	internRef(&w.Workload)
	for i := range w.Edges {
		internConfig(&w.Edges[i].Config)
		intern(&w.Edges[i].Why)
		intern(&w.Edges[i].Clause)
		intern(&w.Edges[i].Handled.KeyID)
		intern(&w.Edges[i].Handled.Sum)
		intern(&w.Edges[i].Handled.How)
	}
}
