package projection

import (
	"unique"

	"github.com/reroll-dev/reroll/reloader"
)

// Each record that is read has its own copy of words that most records have: kinds, namespaces, reasons. They are kept once.

func share[S ~string](words ...*S) {
	for _, w := range words {
		*w = unique.Make(*w).Value()
	}
}

func shareConfig(c *reloader.Config) {
	share(&c.Cluster, &c.Namespace)
	share(&c.Kind)
}

func shareChange(c *reloader.Change) {
	shareConfig(&c.Config)
	share(&c.Cluster, &c.Old.KeyID, &c.New.KeyID)
	share(&c.Type)
	share(&c.Source)
}

func shareWorkload(r *reloader.WorkloadRecord) {
	share(&r.Cluster, &r.Workload.Kind, &r.Workload.Namespace, &r.Dialect, &r.Strategy)
	for i := range r.Edges {
		e := &r.Edges[i]
		shareConfig(&e.Config)
		share(&e.Clause, &e.Applied.KeyID)
		share(&e.Why, &e.How)
		for j := range e.Uses {
			share(&e.Uses[j].How, &e.Uses[j].Container)
		}
	}
}
