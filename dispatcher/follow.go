package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// A workload may follow a config of another cluster. Its owner looks at the config and sends a copy of its newest change, with
// fingerprints and no content; here that copy stands in for the look at the live object. Everything else is as ever: what the
// workload was brought to is on its record, and where that differs from the newest copy, it is pending.

// Copies sends copies to other clusters.
type Copies interface {
	// Send has c brought to its target in the place of any older copy of the same config. It does not block.
	Send(c reloader.Copy)
}

// abroad is the error of a config of another cluster that nothing is known of, and says why.
type abroad struct{ reason string }

// Error says why.
func (a abroad) Error() string { return a.reason }

// Followed returns the configs of other clusters that some workload follows, sorted.
func (d *Dispatcher) Followed() []reloader.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	var followed []reloader.Config
	for c := range d.index.byConfig {
		if c.Cluster != "" {
			followed = append(followed, c)
		}
	}
	slices.SortFunc(followed, compareConfigs)
	return followed
}

// Receive takes a copy from the owner of a config that is followed here. An older one than that before does no harm for long: copies
// come again and again.
func (d *Dispatcher) Receive(c reloader.Copy) {
	followed := c.Followed()
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, ok := d.copies[followed]; ok && was.Same(c) {
		return
	}
	d.copies[followed] = c
	if c.Refused == "" {
		d.verifyQ.Add(followed)
		return
	}
	for ref := range d.index.byConfig[followed] {
		d.edgesQ.Add(ref)
	}
}

// lookAbroad returns what the newest copy of c says, and makes it known if it is new. The caller holds the flight lock of c.
func (d *Dispatcher) lookAbroad(c reloader.Config) (fact, reloader.StoredChange, error) {
	d.mu.Lock()
	received, heard := d.copies[c]
	last := d.latest[c]
	d.mu.Unlock()
	switch {
	case !heard:
		return fact{}, last, abroad{fmt.Sprintf("%s cannot be followed yet: nothing has come from cluster %s, which may be unknown, or away, or not connected to the hub", c, c.Cluster)}
	case received.Refused != "":
		return fact{}, last, abroad{fmt.Sprintf("%s cannot be followed: %s", c, received.Refused)}
	}
	change := received.Change
	change.Config = c
	f := fact{
		// Neither its mark nor a hint is known here: what a workload was brought to is proved by its record alone.
		Meta:   live.Meta{UID: change.UID, ResourceVersion: change.ResourceVersion, Unproven: true},
		digest: change.New, hashes: map[string]string{}, at: time.Now(),
	}
	d.remember(c, f)
	stored := reloader.StoredChange{Change: change}
	if change.ID != last.Change.ID {
		d.mu.Lock()
		d.latest[c] = stored
		d.mu.Unlock()
		d.spread(stored)
	}
	return f, stored, nil
}

// exported is a config that other clusters follow.
type exported struct {
	// targets are those that asked lately, and when.
	targets map[string]time.Time
	// looked is when the config was last looked at for them.
	looked time.Time
}

const (
	// wantTime is how long a target is remembered that does not ask again.
	wantTime = 10 * time.Minute
	// exportTime is how often a config is looked at for others although no hint came.
	exportTime = time.Minute
)

// Wanted takes note of what another cluster wants to follow here, and has it told what it may know.
func (d *Dispatcher) Wanted(w reloader.Want) {
	if d.Copies == nil || w.Owner != d.Cluster || w.Target == d.Cluster {
		return
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range w.Configs {
		e := d.exports[c]
		if e == nil {
			e = &exported{targets: map[string]time.Time{}}
			d.exports[c] = e
		}
		if _, known := e.targets[w.Target]; !known || now.Sub(e.looked) > exportTime {
			d.exportQ.Add(c)
		}
		e.targets[w.Target] = now
	}
}

// export looks at c and tells each cluster that wants to follow it what it may know.
func (d *Dispatcher) export(ctx context.Context, c reloader.Config) time.Duration {
	targets := d.targetsOf(c)
	if len(targets) == 0 {
		return 0
	}
	f, stored, err := d.look(ctx, c, nil, false)
	if err != nil && fateOf(err) != fateNever {
		d.Logger.Warn("a config that other clusters follow could not be looked at", "config", c.String(), "error", err)
		return again
	}
	for _, target := range targets {
		told := reloader.Copy{Owner: d.Cluster, Target: target, Config: c, At: time.Now()}
		if err != nil || f.absent || f.Unselected || stored.Change.ID == "" || !dialect.MayFollow(f.Annotations, target) {
			told.Refused = fmt.Sprintf("it is not there, may not be read, or its annotation %s does not name %s, or it says that it rolls nothing", dialect.FollowersKey, target)
		} else {
			told.Change = stored.Change
		}
		d.Copies.Send(told)
	}
	return 0
}

// targetsOf returns the clusters that want to follow c, and forgets those that do not ask any more.
func (d *Dispatcher) targetsOf(c reloader.Config) (targets []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.exports[c]
	if e == nil {
		return nil
	}
	e.looked = time.Now()
	for target, asked := range e.targets {
		if time.Since(asked) > wantTime {
			delete(e.targets, target)
			continue
		}
		targets = append(targets, target)
	}
	if len(targets) == 0 {
		delete(d.exports, c)
	}
	slices.Sort(targets)
	return targets
}

// needed reports whether c is to be looked at: somebody here depends on it, or another cluster follows it. The caller holds mu.
func (d *Dispatcher) needed(c reloader.Config) bool {
	return len(d.index.byConfig[c]) > 0 || d.exports[c] != nil
}

// exportedIn returns the configs of a kind and namespace that other clusters follow. The caller holds mu.
func (d *Dispatcher) exportedIn(kind reloader.ConfigKind, namespace string) (found []reloader.Config) {
	for c := range d.exports {
		if c.Kind == kind && c.Namespace == namespace && len(d.index.byConfig[c]) == 0 {
			found = append(found, c)
		}
	}
	return found
}

// tellFollowers has other clusters told of c, if they follow it. The caller holds mu.
func (d *Dispatcher) tellFollowers(c reloader.Config) {
	if d.exports[c] != nil {
		d.exportQ.Add(c)
	}
}
