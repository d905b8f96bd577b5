package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// A workload may follow a config of another cluster. Its owner looks at the config and sends a copy of its newest change, with
// fingerprints and no content; here that copy stands in for the look at the live object. Everything else is as ever: what the
// workload was brought to is on its record, and where that differs from the newest copy, it is pending. The same manifest works in the cluster of
// the owner, which tells itself what it tells others, without a hub.

// Copies sends copies to other clusters.
type Copies interface {
	// Send has c brought to its target in the place of any older copy of the same config. It does not block, and calls nobody
	// back.
	Send(c reloader.Copy)
}

// received is a copy that has come.
type received struct {
	reloader.Copy
	// at is when what it says about the config came first.
	at time.Time
}

// abroad is the error of a config of another cluster that nothing is known of, and says why.
type abroad struct{ reason string }

// Error says why.
func (a abroad) Error() string { return a.reason }

// Followed returns the configs of other clusters that some workload follows, sorted, and of each cluster reloader.MaxWanted at most, which the
// namespaces of the workloads share. The others cannot be followed, which is told on their workloads. It asks this one for its own.
func (d *Dispatcher) Followed() (others []reloader.Follow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := reloader.Want{Owner: d.Cluster, Target: d.Cluster}
	for _, f := range d.allFollowed() {
		if f.Config.Cluster != d.Cluster {
			others = append(others, f)
			continue
		}
		own.Configs, own.Numbers = append(own.Configs, athome(f.Config)), append(own.Numbers, f.Number)
	}
	d.takeWant(own, time.Now())
	return others
}

// athome returns a config that is followed as its owner calls it.
func athome(c reloader.Config) reloader.Config {
	c.Cluster = ""
	return c
}

// onceEach has what a workload asks for name once each config of this cluster that it follows and may be asked for as well, so that each rolls it
// once. As long as nothing else asks for it, that config is followed (see metaOf).
func (d *Dispatcher) onceEach(i dialect.Plan) dialect.Plan {
	exact := slices.Clone(i.Names)
	for n, c := range exact {
		own := athome(c)
		if c.Cluster == d.Cluster && i.Matches(own) {
			exact[n] = own
		}
	}
	slices.SortFunc(exact, compareConfigs)
	i.Names = slices.Compact(exact)
	return i
}

// allFollowed returns what is followed, and takes note of it. The caller holds mu.
func (d *Dispatcher) allFollowed() []reloader.Follow {
	namespaces := map[string]map[string][]reloader.Config{} // of each cluster, who follows what
	unasked := map[reloader.Config]struct{}{}
	for c, dependents := range d.index.byConfig {
		if c.Cluster == "" {
			continue
		}
		if namespaces[c.Cluster] == nil {
			namespaces[c.Cluster] = map[string][]reloader.Config{}
		}
		unasked[c] = struct{}{}
		for namespace := range namespacesOf(dependents) {
			namespaces[c.Cluster][namespace] = append(namespaces[c.Cluster][namespace], c)
		}
	}
	var followed []reloader.Follow
	numbers := map[reloader.Config]uint64{}
	for _, followers := range namespaces {
		for _, c := range shared(followers, reloader.MaxWanted) {
			delete(unasked, c)
			numbers[c] = cmp.Or(d.follows[c], uint64(time.Now().UnixNano()))
			followed = append(followed, reloader.Follow{Config: c, Number: numbers[c]})
		}
	}
	d.follows = numbers
	d.leaveOut(unasked)
	maps.DeleteFunc(d.copies, func(c reloader.Config, _ received) bool { return !d.followed(c) })
	slices.SortFunc(followed, func(a, b reloader.Follow) int { return compareConfigs(a.Config, b.Config) })
	return followed
}

func namespacesOf(dependents map[reloader.WorkloadRef]*tracked) map[string]struct{} {
	found := map[string]struct{}{}
	for ref := range dependents {
		found[ref.Namespace] = struct{}{}
	}
	return found
}

// shared returns up to limit of the configs that namespaces ask for. They take turns, so that none can leave another with less than an equal share
// of what it asks for; each begins with its first by kind, namespace and name.
func shared(askers map[string][]reloader.Config, limit int) []reloader.Config {
	order := slices.Sorted(maps.Keys(askers))
	for _, asker := range order {
		slices.SortFunc(askers[asker], compareConfigs)
	}
	taken := map[reloader.Config]struct{}{}
	for turn := 0; len(taken) < limit && len(order) > 0; turn++ {
		order = slices.DeleteFunc(order, func(asker string) bool { return turn >= len(askers[asker]) })
		for _, asker := range order {
			if len(taken) < limit {
				taken[askers[asker][turn]] = struct{}{}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(taken), compareConfigs)
}

// leaveOut takes note of the configs that no owner is asked for, and has the workloads looked at that follow one for which that is new. The
// caller holds mu.
func (d *Dispatcher) leaveOut(unasked map[reloader.Config]struct{}) {
	for c := range unasked {
		if _, known := d.unasked[c]; known {
			continue
		}
		for ref := range d.index.byConfig[c] {
			d.edgesQ.Add(ref)
		}
	}
	d.unasked = unasked
}

// followed reports whether some workload follows c, or did when Followed was last called. The caller holds mu.
func (d *Dispatcher) followed(c reloader.Config) bool {
	_, asked := d.follows[c]
	return asked || len(d.index.byConfig[c]) > 0
}

// Receive takes a copy from the owner of a config that is followed here, and no other. An older one than that before does no harm for long:
// copies come again and again.
func (d *Dispatcher) Receive(c reloader.Copy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.receive(c)
}

// receive is Receive. The caller holds mu.
func (d *Dispatcher) receive(c reloader.Copy) {
	followed := c.Followed()
	was, ok := d.copies[followed]
	if ok && was.Same(c) || !d.followed(followed) {
		return
	}
	now := received{c, time.Now()}
	if ok && was.Change.ID == c.Change.ID && was.Change.VerifiedAt.Equal(c.Change.VerifiedAt) {
		now.at = was.at
	}
	d.copies[followed] = now
	if c.Refused == "" {
		d.verifyQ.Add(followed)
		return
	}
	for ref := range d.index.byConfig[followed] {
		d.edgesQ.Add(ref)
	}
}

// lookAbroad returns what the newest copy of c says, and makes it known if it is new. The caller holds the flight lock of c.
func (d *Dispatcher) lookAbroad(ctx context.Context, c reloader.Config) (fact, reloader.StoredChange, error) {
	d.askOurselves(ctx, c)
	d.mu.Lock()
	told, heard := d.copies[c]
	_, unasked := d.unasked[c]
	last := d.latest[c]
	d.mu.Unlock()
	switch {
	case unasked: // also what came while it was asked for: nothing newer does
		return fact{}, last, abroad{fmt.Sprintf("%s cannot be followed: workloads here follow more than %d configs of cluster %s, which their namespaces share, and nobody is asked for this one", c, reloader.MaxWanted, c.Cluster)}
	case !heard:
		return fact{}, last, d.unanswering(c)
	case told.Refused != "":
		return fact{}, last, abroad{fmt.Sprintf("%s cannot be followed: %s", c, told.Refused)}
	}
	change := told.Change
	change.Config = c
	change = notAfter(change, told.at) // its owner's clock may be ahead of ours
	now := time.Now()
	f := fact{
		// Neither its mark nor a hint is known here: what a workload was brought to is proved by its record alone.
		Meta:   live.Meta{UID: change.UID, ResourceVersion: change.ResourceVersion, Unproven: true},
		digest: change.New, marks: &dialect.Values{}, at: now, seen: now,
	}
	d.remember(c, f)
	stored := reloader.StoredChange{Change: change}
	another := change.ID != last.Change.ID
	if !another && slices.EqualFunc(change.Candidates, last.Change.Candidates, sameWho) {
		return f, stored, nil
	}
	d.mu.Lock()
	d.latest[c] = stored
	d.mu.Unlock()
	if another {
		d.spread(stored)
	} else {
		d.renameCauses(change)
	}
	return f, stored, nil
}

// notAfter returns c with no time that is later than at.
func notAfter(c reloader.Change, at time.Time) reloader.Change {
	c.VerifiedAt, c.RequestedAt, c.ReceivedAt = earlier(c.VerifiedAt, at), earlier(c.RequestedAt, at), earlier(c.ReceivedAt, at)
	c.OldSeenAt = earlier(c.OldSeenAt, at)
	c.Candidates = slices.Clone(c.Candidates)
	for i := range c.Candidates {
		c.Candidates[i].Time = earlier(c.Candidates[i].Time, at)
	}
	return c
}

// askOurselves has this cluster tell of c, if it is the owner and has not yet.
func (d *Dispatcher) askOurselves(ctx context.Context, c reloader.Config) {
	d.mu.Lock()
	_, heard := d.copies[c]
	_, unasked := d.unasked[c]
	ask := c.Cluster == d.Cluster && !heard && !unasked
	if ask {
		d.wantedBy(d.Cluster, athome(c), d.follows[c], time.Now())
	}
	d.mu.Unlock()
	if ask {
		d.export(ctx, athome(c))
	}
}

// unanswering returns the error of a config whose owner has not told of it.
func (d *Dispatcher) unanswering(c reloader.Config) error {
	if c.Cluster == d.Cluster {
		return abroad{fmt.Sprintf("%s cannot be followed yet: it could not be looked at here, in its own cluster", c)}
	}
	return abroad{fmt.Sprintf("%s cannot be followed yet: nothing has come from cluster %s, which may be unknown, or away, or not connected to the hub", c, c.Cluster)}
}

// unanswered returns an error if what is known of c was told to somebody who followed it earlier, so that its owner may have changed it since
// and told nobody. Such a copy may say that what a workload was brought to is out of date, and cannot be what a workload begins with. The caller holds
// mu.
func (d *Dispatcher) unanswered(c reloader.Config) error {
	if told := d.copies[c]; told.Answers != 0 && told.Answers != d.follows[c] {
		return d.unanswering(c)
	}
	return nil
}
