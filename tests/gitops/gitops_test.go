package gitops

import (
	"context"
	"errors"
	"testing"
	"time"
)

// healings is how often a tool looks after the workload between two changes.
const healings = 3

// heal has the tool sync as often as it looks: on drift, as self-healing does, and without, as a sync by hand or of another commit does.
func heal(t *testing.T, s *site, by tool) {
	t.Helper()
	for range healings {
		by.sync(t, s)
	}
}

// TestMarksSurvive: of what merges by fields, marks are no drift, a sync leaves them where they are, a new version from Git comes with them, and
// each change of the ConfigMap is one change of the workload. That holds for the marks of other tools as well.
func TestMarksSurvive(t *testing.T) {
	for _, strategy := range merged {
		for _, by := range tools {
			t.Run("Deployment/"+strategy+"/"+by.name, func(t *testing.T) { survives(t, newSite(t, "Deployment", strategy, by), by) })
		}
	}
	for _, strategy := range []string{"annotations", "restart"} {
		for _, by := range tools {
			t.Run("Rollout/"+strategy+"/"+by.name, func(t *testing.T) { survives(t, newSite(t, "Rollout", strategy, by), by) })
		}
	}
}

func survives(t *testing.T, s *site, by tool) {
	t.Helper()
	began := s.live(t).GetGeneration()
	s.expect(t, by, "before", began, 0, "", false)
	mark := s.edit(t, "2", 1)
	rolled := time.Now()
	s.expect(t, by, "rolled", began, 1, mark, false)
	heal(t, s, by)
	s.expect(t, by, "healed", began, 1, mark, false)
	s.commit(t, "registry.example/web:2")
	s.expect(t, by, "committed", began, 1, mark, true)
	heal(t, s, by)
	s.expect(t, by, "synced", began, 2, mark, false)
	s.poll(t, func(context.Context) error { // a Rollout is restarted by a time to the second
		if time.Since(rolled) < time.Second {
			return errors.New("it is the second of the first roll")
		}
		return nil
	})
	mark = s.edit(t, "3", 2)
	heal(t, s, by)
	s.expect(t, by, "rolled again", began, 3, mark, false)
}

// TestVariablesOfCustomResources: the containers of an Argo Rollout are one value to whoever applies it. A variable in them is a drift, and each
// roll is undone by the next sync: two changes for one. Reroll does not begin again, so that it ends there.
func TestVariablesOfCustomResources(t *testing.T) {
	for _, by := range tools {
		t.Run(by.name, func(t *testing.T) {
			s := newSite(t, "Rollout", "env-vars", by)
			began := s.live(t).GetGeneration()
			mark := s.edit(t, "2", 1)
			s.expect(t, by, "rolled", began, 1, mark, true)
			heal(t, s, by)
			s.expect(t, by, "healed", began, 2, "", false)
			mark = s.edit(t, "3", 2)
			s.expect(t, by, "rolled again", began, 3, mark, true)
		})
	}
}

// TestReplace: whoever writes the whole object takes every mark away, which is a change of its own. Reroll does not put it back, and the next
// change of the ConfigMap is one roll.
func TestReplace(t *testing.T) {
	for _, strategy := range merged {
		t.Run(strategy, func(t *testing.T) {
			s := newSite(t, "Deployment", strategy, replacing)
			began := s.live(t).GetGeneration()
			mark := s.edit(t, "2", 1)
			s.expect(t, replacing, "rolled", began, 1, mark, false)
			heal(t, s, replacing)
			s.expect(t, replacing, "replaced", began, 2, "", false)
			mark = s.edit(t, "3", 2)
			s.expect(t, replacing, "rolled again", began, 3, mark, false)
		})
	}
}

// TestIgnoreDifferences: the rules of docs/recipes.md keep the marks also from whoever writes the whole object.
func TestIgnoreDifferences(t *testing.T) {
	for _, d := range readRules(t) {
		for _, strategy := range d.strategies {
			t.Run(d.name+"/"+strategy, func(t *testing.T) {
				by := replacing.ignoring(d.rule)
				survives(t, newSite(t, d.rule.Kind, strategy, by), by)
			})
		}
	}
}
