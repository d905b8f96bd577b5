package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Followed returns the configs of other clusters that some workload follows, sorted, and of each cluster reloader.MaxWanted at most, which the
// namespaces of the workloads share. The others cannot be followed, which is told on their workloads.
func (d *Dispatcher) Followed() []reloader.Follow {
	d.mu.Lock()
	defer d.mu.Unlock()
	wanted := map[string][]reloader.Config{}
	for c, dependents := range d.index.byConfig {
		if c.Cluster == "" {
			continue
		}
		namespaces := map[string]bool{}
		for ref := range dependents {
			if !namespaces[ref.Namespace] {
				wanted[ref.Namespace] = append(wanted[ref.Namespace], c)
			}
			namespaces[ref.Namespace] = true
		}
	}
	ask, leftOut := d.fleet.Follow(wanted)
	for _, c := range leftOut {
		d.reopenAll(c)
	}
	return ask
}

// reopenAll has it decided anew what c is to the workloads that depend on it. The caller holds mu.
func (d *Dispatcher) reopenAll(c reloader.Config) {
	for ref, t := range d.index.byConfig[c] {
		t.edges[c].reopen()
		d.workloadQ.Add(ref)
	}
}

// Receive takes a copy from the owner of a config that is followed here, and no other.
func (d *Dispatcher) Receive(c reloader.Copy) {
	if !d.fleet.Receive(c) && d.dependedOn(c.Followed()) {
		d.Followed() // a workload has begun to follow it since
		d.fleet.Receive(c)
	}
}

// Wanted takes what another cluster wants to follow here.
func (d *Dispatcher) Wanted(w reloader.Want) { d.fleet.Wanted(w) }

// newsOf has it looked into what another copy of c says.
func (d *Dispatcher) newsOf(c reloader.Config) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.intake.of(c).due = true
	d.configQ.Add(c)
	d.reopenAll(c)
}

// lookAbroad returns what the newest copy of c says, in the place of a look. The caller holds the flight lock of c.
func (d *Dispatcher) lookAbroad(ctx context.Context, c reloader.Config) (fact, *reloader.Change, error) {
	began := time.Now()
	if err := d.fleet.AskOwn(ctx, c); err != nil {
		d.Logger.Warn("a config that is followed in its own cluster could not be looked at", "config", c.String(), "error", err)
	}
	told, err := d.fleet.Newest(c)
	if err != nil {
		return fact{}, nil, err
	}
	change := told.Change
	f := fact{
		Meta:   live.Meta{UID: change.UID, ResourceVersion: change.ResourceVersion},
		digest: change.New, marks: &dialect.Values{}, began: began, seen: time.Now(), absent: !change.Present(),
		unanswered: told.Unanswered,
	}
	return f, &change, nil
}

// export tells the clusters that follow c what they may know.
func (d *Dispatcher) export(ctx context.Context, c reloader.Config) time.Duration {
	if err := d.fleet.Export(ctx, c); err != nil {
		d.Logger.Warn("a config that other clusters follow could not be looked at", "config", c.String(), "error", err)
		return again
	}
	return 0
}

// exportQueue has the configs that other clusters are to be told of.
type exportQueue struct {
	workqueue.TypedRateLimitingInterface[reloader.Config]
}

// own looks at configs of this cluster for the fleet.
type own struct{ *Dispatcher }

// Meta reads the metadata of c.
func (d own) Meta(ctx context.Context, c reloader.Config) (live.Meta, bool, error) {
	meta, err := d.Configs.Meta(ctx, c)
	d.metrics.Read(metrics.Metadata)
	if apierrors.IsNotFound(err) {
		return live.Meta{}, false, nil
	}
	return meta, err == nil, forFleet(err)
}

// Look reads c and records its change.
func (d own) Look(ctx context.Context, c reloader.Config) (fleet.Seen, error) {
	if err := d.recall(ctx, c); err != nil {
		return fleet.Seen{}, err
	}
	f, err := d.look(ctx, c, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	return fleet.Seen{Meta: f.Meta, Present: !f.absent, Change: d.entry(c).last.Change}, forFleet(err)
}

// recall reads the last change of c from the history, if it was forgotten while nobody needed it.
func (d *Dispatcher) recall(ctx context.Context, c reloader.Config) error {
	d.mu.Lock()
	known := d.entry(c).last.Change.Type != ""
	d.mu.Unlock()
	if known {
		return nil
	}
	last, found, err := d.History.LatestChange(ctx, d.Cluster, c)
	if err != nil || !found {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.entry(c); e.last.Change.Type == "" {
		e.last = last
	}
	return nil
}

// forFleet marks errors that do not pass by themselves.
func forFleet(err error) error {
	if fateOf(err) == fateNever {
		return fmt.Errorf("%w: %w", fleet.ErrUnreadable, err)
	}
	return err
}

func (d *Dispatcher) dependedOn(c reloader.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.index.byConfig[c]) > 0
}

// exportedIn returns the configs of a scope that nobody here depends on, and other clusters may follow. The caller holds mu.
func (d *Dispatcher) exportedIn(s scope) []reloader.Config {
	return slices.DeleteFunc(d.fleet.ExportsIn(s.kind, s.namespace), func(c reloader.Config) bool { return len(d.index.byConfig[c]) > 0 })
}
