package dispatcher

import (
	"context"
	"fmt"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Followed returns the configs of other clusters that some workload follows, sorted, and of each cluster reloader.MaxWanted at most, which the
// namespaces of the workloads share. The others cannot be followed; their workloads have a problem.
func (d *Dispatcher) Followed() []reloader.Follow {
	b := d.lock()
	defer d.unlock()
	wanted := map[string][]reloader.Config{}
	for c, dependents := range b.index.byConfig {
		if c.Cluster == "" {
			continue
		}
		for _, t := range dependents {
			if of := wanted[t.w.Namespace]; len(of) == 0 || of[len(of)-1] != c {
				wanted[t.w.Namespace] = append(of, c)
			}
		}
	}
	ask, leftOut := d.fleet.Follow(wanted)
	for _, c := range leftOut {
		b.reopenAll(c)
	}
	return ask
}

// reopenAll has it decided again what c is to the workloads that depend on it.
func (b *board) reopenAll(c reloader.Config) {
	for _, t := range b.index.byConfig[c] {
		t.edges.Get(c).reopen()
		b.workloadQ.Add(t.w.Ref())
	}
}

// Receive takes a copy from the owner of a config that is followed here, and no other.
func (d *Dispatcher) Receive(c reloader.Copy) {
	if d.fleet.Receive(c) {
		return
	}
	depend := len(d.lock().index.byConfig[c.Followed()])
	d.unlock()
	if depend > 0 {
		d.Followed() // a workload has begun to follow it since
		d.fleet.Receive(c)
	}
}

// Wanted takes what another cluster wants to follow here.
func (d *Dispatcher) Wanted(w reloader.Want) { d.fleet.Wanted(w) }

// newsOf has it looked into what another copy of c says.
func (d *Dispatcher) newsOf(c reloader.Config) {
	b := d.lock()
	defer d.unlock()
	b.lookAt(c)
	b.reopenAll(c)
}

// own looks at configs of this cluster for the fleet.
type own struct{ *looker }

// Meta reads the metadata of c.
func (d own) Meta(ctx context.Context, c reloader.Config) (live.Meta, bool, error) {
	f, err := d.readMeta(ctx, c, true)
	return f.Meta, err == nil && !f.absent, forFleet(err)
}

// Look reads c and records its change.
func (d own) Look(ctx context.Context, c reloader.Config) (fleet.Seen, error) {
	f, err := d.look(ctx, c, nil)
	b := d.lock()
	defer d.unlock()
	return fleet.Seen{Meta: f.Meta, Present: !f.absent, Change: b.configs.of(c).last(b.Cluster, c)}, forFleet(err)
}

// forFleet marks errors that do not pass by themselves.
func forFleet(err error) error {
	if fateOf(err) == fateNever {
		return fmt.Errorf("%w: %w", fleet.ErrUnreadable, err)
	}
	return err
}
