package dispatcher

import (
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// A workload that follows a config of another cluster may read the content from a local copy, which somebody else brings up to date. Then it
// is the copy that rolls it, like any config of its own cluster; what the owner tells waits until the copy has changed, and is one more
// cause of that roll. So there is never a second one, and none before there is something new to read, whichever of the two comes first.

const (
	// replicaTime is how long a local copy may take to change after the owner's change has become known here.
	replicaTime = time.Hour
	// replicaSkew is how much the clocks of two clusters may differ for one of them to be told from the other.
	replicaSkew = 2 * time.Second
)

// replicaOf returns the local copy that t reads instead of c, if it follows c. A config of this cluster may be asked for in another way as well,
// and then waits for none. The caller holds mu.
func (d *Dispatcher) replicaOf(t *tracked, c reloader.Config) (reloader.Config, bool) {
	replica, ok := t.interest.Replicas[c]
	if !ok || c.Cluster == "" && d.decide(t.w, c, d.facts[c]).Why != reloader.ReasonFollowed {
		return reloader.Config{}, false
	}
	return replica, true
}

// awaitReplicas returns why t waits, if everything that is pending of it waits for a local copy; nil if it can go on. The caller holds mu.
func (d *Dispatcher) awaitReplicas(t *tracked, now time.Time) *reloader.Hold {
	var first *reloader.Hold
	for c := range t.pending {
		hold := d.awaitsReplica(t, c, now)
		if hold == nil {
			return nil
		}
		if first == nil || hold.Due.Before(first.Due) || hold.Due.Equal(first.Due) && hold.Message < first.Message {
			first = hold
		}
	}
	return first
}

// awaitsReplica returns why the pending change of c has to wait; nil if it has not. The caller holds mu.
func (d *Dispatcher) awaitsReplica(t *tracked, c reloader.Config, now time.Time) *reloader.Hold {
	replica, ok := d.replicaOf(t, c)
	p := t.pending[c]
	if !ok || p == nil {
		return nil
	}
	h, latest := t.handled[c], d.latest[c].Change
	if h.KeyID == latest.New.KeyID && h.Sum == latest.New.Sum {
		return nil // it is back at what the workload was brought to
	}
	if !p.force && d.unused(t.w, step{config: c, changes: p.changes}, fact{digest: latest.New}, h) {
		return nil // there is nothing to wait for
	}
	due := p.heard.Add(replicaTime)
	if d.replicated(t, replica, latest) || !due.After(now) {
		return nil
	}
	return &reloader.Hold{
		Reason: reloader.ReasonWaitingForReplica, Due: due,
		Message: fmt.Sprintf("%s has not changed since %s did.", replica, c),
	}
}

// replicated reports whether replica has changed since the owner's change, so that t has been brought to it, or is about to be. Contents of
// different clusters cannot be compared; a copy that was changed for another reason is taken for it, and rolls t again when it is
// brought up to date. The caller holds mu.
func (d *Dispatcher) replicated(t *tracked, replica reloader.Config, owners reloader.Change) bool {
	last := d.latest[replica].Change
	at := owners.VerifiedAt
	if !owners.RequestedAt.IsZero() && owners.RequestedAt.Before(at) {
		at = owners.RequestedAt
	}
	if !last.Present() || last.VerifiedAt.Before(at.Add(-replicaSkew)) {
		return false
	}
	if t.pending[replica] != nil {
		return true
	}
	h, dried := t.handled[replica], t.dried[replica]
	return last.Type != reloader.ChangeBaseline && (h.KeyID == last.New.KeyID && h.Sum == last.New.Sum || dried == last.New.Sum)
}

// holdForReplica is holdFor, and says so once for each change that waits. The caller holds mu.
func (d *Dispatcher) holdForReplica(t *tracked, hold *reloader.Hold, now time.Time) time.Duration {
	told := t.hold != nil && t.hold.Reason == hold.Reason && t.hold.Due.Equal(hold.Due)
	wait := d.holdFor(t, hold, now)
	if told {
		return wait
	}
	var steps []step
	for c, p := range t.pending {
		steps = append(steps, step{
			config: c, changes: p.changes[len(p.changes)-1:], latest: d.latest[c].Change, outcome: hold.Reason, why: d.decide(t.w, c, d.facts[c]),
		})
	}
	slices.SortFunc(steps, func(a, b step) int { return compareConfigs(a.config, b.config) })
	r := d.newReload(t, t.w, steps, "", now)
	r.Message = hold.Message
	d.Announcer.Announce(t.w, r)
	return wait
}

// replica is the local copy of a config that is pending.
type replica struct {
	config reloader.Config
	// changed says that it has changed since the owner's change.
	changed bool
}

// replicasOf returns the local copies of what is pending of t. The caller holds mu.
func (d *Dispatcher) replicasOf(t *tracked) map[reloader.Config]replica {
	found := map[reloader.Config]replica{}
	for c := range t.pending {
		if r, ok := d.replicaOf(t, c); ok {
			found[c] = replica{r, d.replicated(t, r, d.latest[c].Change)}
		}
	}
	return found
}

// joinReplicas gives each followed config that asks for a roll what becomes of its local copy: that is what rolls the workload.
func joinReplicas(steps []step, copied map[reloader.Config]replica) {
	for i, s := range steps {
		r, ok := copied[s.config]
		if !ok || s.outcome != reloader.ReasonReloaded {
			continue
		}
		at := slices.IndexFunc(steps, func(o step) bool { return o.config == r.config })
		switch {
		case at >= 0 && (r.changed || steps[at].outcome == reloader.ReasonReloaded):
			steps[i].outcome = steps[at].outcome
		case r.changed:
			steps[i].outcome = reloader.ReasonAlreadyCurrent
		default:
			steps[i].outcome = reloader.ReasonReplicaUnchanged
		}
		steps[i].collides = steps[i].outcome == reloader.ReasonReloaded
	}
}
