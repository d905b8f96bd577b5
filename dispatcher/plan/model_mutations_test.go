//go:build !race

package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// mutation is a mistake, and the world in which it shows.
type mutation struct {
	name    string
	product product
	// sight is the rule of first sight that is left out.
	sight string
	in    setup
	// comfort says that nothing breaks: the rule spares rolls that are allowed.
	comfort bool
	// deep is how many worlds have to be visited, if that takes long.
	deep int
}

// without returns the product without one rule.
func without(rule string) product {
	p := theProduct
	p.decide = func(c plan.Case) plan.Verdict {
		for _, r := range plan.Rules {
			if v, ok := r.If(c); ok && r.Name != rule {
				return v
			}
		}
		return plan.Verdict{Do: plan.Nothing}
	}
	return p
}

// seeing returns the product with other evidence.
func seeing(see func(*plan.Case)) product {
	p := theProduct
	p.see = see
	return p
}

func joining(newest func(object, ledger applied.State) applied.State) product {
	p := theProduct
	p.newest = newest
	return p
}

func changed(change func(*product)) product {
	p := theProduct
	change(&p)
	return p
}

var (
	small  = setup{configs: 1, procs: 1, edits: 2, faults: 1}
	medium = setup{configs: 1, procs: 1, edits: 2, faults: 2}
	two    = setup{configs: 1, procs: 2, edits: 2, faults: 1}
)

func with(s setup, change func(*setup)) setup {
	change(&s)
	return s
}

var mutations = []mutation{
	{name: "no notWanted", product: without("notWanted"), in: with(small, func(s *setup) { s.optOuts, s.faults = true, 2 })},
	{name: "opting out leaves the entry", product: changed(func(p *product) {
		p.decide = func(c plan.Case) plan.Verdict {
			if !c.Wanted {
				return plan.Verdict{Do: plan.Nothing}
			}
			return plan.Decide(c)
		}
	}), in: with(small, func(s *setup) { s.optOuts, s.faults = true, 2 })},
	{name: "no firstSight", product: without("firstSight"), in: small},
	{name: "no same", product: without("same"), in: small},
	{name: "no gone", product: without("gone"), in: with(small, func(s *setup) { s.deletions = true })},
	{name: "no appeared", product: without("appeared"), in: with(small, func(s *setup) { s.deletions = true })},
	{name: "no keyUnknown", product: without("keyUnknown"), in: with(medium, func(s *setup) { s.keys, s.relabels = true, true })},
	{name: "no unmoved", product: without("unmoved"), in: with(small, func(s *setup) { s.relabels = true })},
	{name: "no reverted", product: without("reverted"), in: medium},
	{name: "no podsNewer", product: without("podsNewer"), in: small, comfort: true},

	{name: "no writtenSince", product: theProduct, sight: "writtenSince", in: small},
	{name: "no takenSince", product: theProduct, sight: "takenSince", in: with(small, func(s *setup) { s.hints, s.removals = true, true })},
	{name: "no madeAnew", product: theProduct, sight: "madeAnew", in: with(small, func(s *setup) { s.deletions, s.required = true, true })},
	{name: "sight without the birth of the ledger", product: seeing(func(c *plan.Case) { c.First.Born = c.First.Written }), in: small},
	{name: "sight without the last write of the workload", product: seeing(func(c *plan.Case) { c.First.Written = c.First.Born }), in: with(medium, func(s *setup) { s.optOuts = true })},

	{name: "the object always holds", product: joining(func(object, ledger applied.State) applied.State {
		if object.Known() {
			return object
		}
		return ledger
	}), in: small},
	{name: "the ledger always holds", product: joining(func(object, ledger applied.State) applied.State {
		if ledger.Known() {
			return ledger
		}
		return object
	}), in: small},
	{name: "versions have no order", product: joining(func(object, ledger applied.State) applied.State {
		if object.Known() && ledger.Known() && object.N == ledger.N {
			object.Writes = nil
		}
		return applied.Newest(object, ledger)
	}), in: with(two, func(s *setup) { s.faults = 2 }), deep: 4_000_000},
	{name: "n counts over the object", product: changed(func(p *product) {
		p.was = func(object, newest applied.State) applied.State { newest.N = object.N; return newest }
	}), in: with(medium, func(s *setup) { s.deletions, s.counting.Deletion = true, true })},

	{name: "no looks", product: seeing(func(c *plan.Case) { c.Looks = []applied.Live{} }), in: small},
	{name: "only the last two looks", product: seeing(func(c *plan.Case) { c.Live.Began = c.Live.Seen; c.Looks = []applied.Live{c.Live} }), in: small},
	{name: "no rollback in what comes back", product: seeing(func(c *plan.Case) { c.Ours = true }), in: with(medium, func(s *setup) { s.edits = 3 })},
	{name: "pods of earlier templates count", product: seeing(func(c *plan.Case) {
		for i := range c.Pods.Of {
			c.Pods.Of[i].Current = true
		}
	}), in: with(small, func(s *setup) { s.edits = 3 })},
	{name: "one newer pod is enough", product: seeing(func(c *plan.Case) {
		slices.SortFunc(c.Pods.Of, func(a, b workload.Pod) int { return a.Containers[0].At.Compare(b.Containers[0].At) })
		c.Pods.Of = c.Pods.Of[1:]
	}), in: small},
	{name: "the time of data tells when a key was taken away", product: seeing(func(c *plan.Case) { c.AsOf = time.Time{} }), in: with(small, func(s *setup) { s.removals = true })},

	{name: "a note has no precondition", product: changed(func(p *product) { p.noteAnyway = true }), in: with(medium, func(s *setup) { s.edits = 3 }), deep: 2_000_000},
	{name: "the ledger is written without precondition", product: changed(func(p *product) { p.noCAS = true }), in: with(two, func(s *setup) { s.faults = 2 }), deep: 2_000_000},
	{name: "configs are read before the workload", product: changed(func(p *product) { p.configsFirst = true }), in: two},
}

// TestMutations leaves out or changes one thing at a time. Each must break an invariant.
func TestMutations(t *testing.T) {
	for _, x := range mutations {
		if x.deep > mutationLimit && !atNight {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			rules := plan.SightRules
			defer func() { plan.SightRules = rules }()
			if x.sight != "" {
				plan.SightRules = slices.DeleteFunc(slices.Clone(rules), func(r plan.Rule) bool { return r.Name == x.sight })
			}
			m := &model{setup: x.in}
			m.product = x.product
			broken, trace, complete := m.search(max(x.deep, mutationLimit))
			t.Logf("%q in %d steps, %d states, complete: %v", broken, len(trace)-1, len(m.seen), complete)
			if (broken == "") != x.comfort {
				t.Errorf("it breaks %q", broken)
			}
		})
	}
}

// mutationLimit is how many worlds the search for a mistake visits that shows early.
const mutationLimit = 300_000
