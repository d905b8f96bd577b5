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

func internChange(c *reloader.Change) {
	intern(&c.Cluster)
	intern(&c.Type)
	intern(&c.UID)
	intern(&c.Old.KeyID)
	intern(&c.New.KeyID)
	intern(&c.Source)
	internConfig(&c.Config)
	internKeys(c.Keys)
	internCandidates(c.Candidates)
}

func internReload(r *reloader.Reload) {
	intern(&r.Cluster)
	intern(&r.UID)
	intern(&r.Dialect)
	intern(&r.Strategy)
	intern(&r.Outcome)
	internRef(&r.Workload)
	for i := range r.Causes {
		c := &r.Causes[i]
		intern(&c.Why)
		intern(&c.Clause)
		intern(&c.Source)
		intern(&c.Container)
		internConfig(&c.Config)
		internKeys(c.Keys)
		internCandidates(c.Candidates)
	}
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
