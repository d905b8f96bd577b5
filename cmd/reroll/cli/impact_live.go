package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/verdict"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// What manifests would do to a config that is live.
const (
	wouldCreate = "Created"
	wouldUpdate = "Updated"
	wouldKeep   = "Unchanged"
	// wouldPerhaps is of a config that the user may not read.
	wouldPerhaps = "Unknown"
)

// comparison compares manifests with a cluster, by the user's own rights.
type comparison struct {
	reader
	dialects dialect.Set
	// creations says that the creation of a config rolls whichever workload asks for it.
	creations bool
	// hot is which reloads without a restart are allowed.
	hot  config.HotReload
	ring *digest.Ring
	now  time.Time
	// asking are the workloads that ask for configs.
	asking []dialect.Plan
}

// compare says what applying manifests would roll. Reroll need not run in the cluster.
func (f *impactFlags) compare(ctx context.Context, proposals []proposal) (found []foreseen, err error) {
	settings, err := f.settings.Read()
	if err != nil {
		return nil, Usage(err)
	}
	chosen, err := settings.Dialects()
	if err != nil {
		return nil, Usage(err)
	}
	scope := kube.Scope{Rollouts: true}
	for _, p := range proposals {
		scope.Namespaces = append(scope.Namespaces, p.Config.Namespace)
	}
	if slices.ContainsFunc(proposals, func(p proposal) bool { return p.Annotations[dialect.ShareKey] != "" }) {
		scope.Namespaces = nil // workloads of any namespace may use it
	}
	cluster, err := f.connect(ctx, adoption.Keeps(settings.AllDialects()), scope)
	if err != nil {
		return nil, err
	}
	key := make(digest.Key, digest.KeySize)
	_, _ = rand.Read(key) // it never fails
	ring, err := digest.NewRing(key)
	if err != nil {
		return nil, err
	}
	c := &comparison{reader: cluster, dialects: chosen, creations: settings.Reload.OnCreate, hot: settings.HotReload, ring: ring, now: time.Now()}
	return c.run(ctx, proposals)
}

func (c *comparison) run(ctx context.Context, proposals []proposal) (found []foreseen, err error) {
	hidden, err := c.Workloads(ctx, func(w *workload.Workload) error {
		if plan := c.dialects.Compile(w); plan.OptedIn() {
			c.asking = append(c.asking, plan)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.asking, func(a, b dialect.Plan) int { return compareRefs(a.Workload.Ref(), b.Workload.Ref()) })
	for _, p := range proposals {
		impact, err := c.foresee(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, resource := range hidden {
			impact.Warnings = append(impact.Warnings, "you may not list "+resource+", so they are left out")
		}
		impact.Complete = impact.Complete && len(hidden) == 0
		found = append(found, impact)
	}
	return found, nil
}

// foresee says what applying one config would roll.
func (c *comparison) foresee(ctx context.Context, p proposal) (v foreseen, err error) {
	v = foreseen{Change: wouldUpdate, Impact: view.FromSupposed(view.Supposed{Key: projection.KeyOf("", p.Config), Now: c.now})}
	v.Complete, v.Warnings = true, []string{}
	live, err := c.Get(ctx, p.Config)
	switch {
	case apierrors.IsNotFound(err):
		v.Change = wouldCreate
	case apierrors.IsForbidden(err):
		v.Change, v.Complete = wouldPerhaps, false
		v.Warnings = append(v.Warnings, fmt.Sprintf("you may not read %s, so it counts as changed", configRef("", p.Config)))
	case err != nil:
		return v, fmt.Errorf("read %s: %w", configRef("", p.Config), err)
	case p.content.Size() == 0: // something else fills it in
		v.Change = wouldKeep
		return v, nil
	default:
		v.Differs = digest.Diff(c.ring.Digest(live.Content), c.ring.Digest(p.content))
		for _, k := range v.Differs {
			v.Keys = append(v.Keys, k.Key)
		}
		if len(v.Keys) == 0 {
			v.Change = wouldKeep
			return v, nil
		}
	}
	meta := p.ConfigMeta
	meta.Annotations, meta.Labels = maps.Clone(live.Annotations), maps.Clone(live.Labels) // those that the manifest does not have stay
	for to, from := range map[*map[string]string]map[string]string{&meta.Annotations: p.Annotations, &meta.Labels: p.Labels} {
		if *to == nil {
			*to = map[string]string{}
		}
		maps.Copy(*to, from)
	}
	var records []*reloader.WorkloadRecord
	rolls := map[reloader.WorkloadRef]bool{}
	for _, plan := range c.asking {
		if by := plan.Decide(meta); by.Reload && plan.Matches(p.Config) && plan.Shows(meta) {
			records = append(records, c.recordOf(&plan, p.Config, by))
			rolls[plan.Workload.Ref()] = v.Change != wouldCreate || (by.Created || c.creations) && plan.Optional(p.Config)
		}
	}
	impact := view.FromSupposed(view.Supposed{Key: projection.KeyOf("", p.Config), Keys: v.Keys, Dependents: records, Now: c.now})
	impact.Complete, impact.Warnings = v.Complete, v.Warnings
	for i := range impact.Workloads {
		counts := map[verdict.Fate]*int{verdict.RollsNow: &impact.RollsNow, verdict.Reloads: &impact.ReloadCount}
		if w := &impact.Workloads[i]; !rolls[w.Workload] && counts[w.Fate] != nil {
			*counts[w.Fate]--
			impact.NeverCount++
			w.Fate, w.Verdict = verdict.RollsNever, verdict.Verdict{State: verdict.NotRolled, Message: "It would not roll: pods that need the new config start with it."}
		}
	}
	v.Impact = impact
	return v, nil
}

// recordOf is what Reroll would have on record about a workload that is to roll for a config.
func (c *comparison) recordOf(plan *dialect.Plan, config reloader.Config, by dialect.Decision) *reloader.WorkloadRecord {
	w, e := plan.Workload, reloader.Edge{Config: config, Why: by.Why, Clause: by.Clause, UsedKeys: by.UsedKeys, Applied: reloader.Digest{Sum: "live"}}
	if r, used := w.Template.References.Find(config); used {
		e.Uses = r.Uses
	}
	e.Restarts = plan.Restarts(config, c.hot.Enabled, c.hot.Exec)
	record := &reloader.WorkloadRecord{Workload: w.Ref(), Strategy: plan.Chosen.Strategy, Edges: []reloader.Edge{e}, Dormant: w.Dormant, Keys: plan.Chosen.Keys.String()}
	if h := plan.Chosen.Hot; h != nil {
		record.Strategy = h.Strategy
	}
	if p := plan.Chosen.Pause; p.Begun {
		record.Hold = &reloader.Hold{Reason: reloader.ReasonPaused, Since: p.Until.Add(-p.Period), Due: p.Until}
	}
	return record
}
