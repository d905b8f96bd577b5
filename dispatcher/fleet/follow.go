package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// follows is what workloads here follow.
type follows struct {
	// asked has the number of each config that its owner is asked for.
	asked map[reloader.Config]uint64
	// leftOut has the configs that no owner is asked for, since too many are wanted of it.
	leftOut map[reloader.Config]struct{}
	// copies has the newest copy of each asked config.
	copies map[reloader.Config]received
}

// received is a copy that has come.
type received struct {
	reloader.Copy
	at time.Time
}

// want replaces what is wanted by the namespaces. It returns what is asked for, sorted, and what is left out and was not before.
func (f *follows) want(wanted map[string][]reloader.Config, now time.Time) (asked []reloader.Follow, leftOut []reloader.Config) {
	byOwner := map[string]map[string][]reloader.Config{}
	unasked := map[reloader.Config]struct{}{}
	for namespace, configs := range wanted {
		for _, c := range configs {
			if byOwner[c.Cluster] == nil {
				byOwner[c.Cluster] = map[string][]reloader.Config{}
			}
			byOwner[c.Cluster][namespace] = append(byOwner[c.Cluster][namespace], c)
			unasked[c] = struct{}{}
		}
	}
	numbers := map[reloader.Config]uint64{}
	for _, askers := range byOwner {
		for _, c := range share(askers, reloader.MaxWanted) {
			delete(unasked, c)
			numbers[c] = cmp.Or(f.asked[c], newNumber(now))
			asked = append(asked, reloader.Follow{Config: c, Number: numbers[c]})
		}
	}
	for c := range unasked {
		if _, known := f.leftOut[c]; !known {
			leftOut = append(leftOut, c)
		}
	}
	f.asked, f.leftOut = numbers, unasked
	maps.DeleteFunc(f.copies, func(c reloader.Config, _ received) bool { return numbers[c] == 0 })
	slices.SortFunc(asked, func(a, b reloader.Follow) int { return a.Config.Compare(b.Config) })
	return asked, leftOut
}

// newNumber returns the number of a question that begins now.
func newNumber(now time.Time) uint64 { return uint64(now.UnixNano()) }

// share returns up to limit of the configs that askers want. They take turns, so that none can leave another with less than an equal share of what
// it wants. Each begins with its first config by kind, namespace and name.
func share(askers map[string][]reloader.Config, limit int) []reloader.Config {
	order := slices.Sorted(maps.Keys(askers))
	for _, asker := range order {
		slices.SortFunc(askers[asker], reloader.Config.Compare)
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
	return slices.SortedFunc(maps.Keys(taken), reloader.Config.Compare)
}

// receive keeps a copy of a config that is asked for, and reports whether it says anything new.
func (f *follows) receive(c reloader.Copy, now time.Time) (followed, news bool) {
	config := c.Followed()
	if _, followed = f.asked[config]; !followed {
		return false, false
	}
	was, known := f.copies[config]
	if known && was.Same(c) {
		return true, false
	}
	f.copies[config] = received{c, now}
	return true, true
}

func (f *follows) newest(c reloader.Config) (reloader.Change, error) {
	if _, out := f.leftOut[c]; out {
		return reloader.Change{}, FollowError{fmt.Sprintf("%s cannot be followed: workloads here follow more than %d configs of cluster %s, which their namespaces share, and this one is ignored", c, reloader.MaxWanted, c.Cluster)}
	}
	copied, heard := f.copies[c]
	switch {
	case !heard:
		return reloader.Change{}, FollowError{fmt.Sprintf("%s cannot be followed yet: nothing has come from cluster %s, which may be unknown, stopped or not connected to the hub", c, c.Cluster)}
	case copied.Refused != "":
		return reloader.Change{}, FollowError{fmt.Sprintf("%s cannot be followed: %s", c, copied.Refused)}
	}
	change := notAfter(copied.Change, copied.at)
	change.Config = c
	return change, nil
}

// notAfter returns c with no time that is later than at: the clock of its owner may be ahead of ours.
func notAfter(c reloader.Change, at time.Time) reloader.Change {
	c.VerifiedAt, c.RequestedAt, c.ReceivedAt = reloader.Earlier(c.VerifiedAt, at), reloader.Earlier(c.RequestedAt, at), reloader.Earlier(c.ReceivedAt, at)
	c.Candidates = slices.Clone(c.Candidates)
	for i := range c.Candidates {
		c.Candidates[i].Time = reloader.Earlier(c.Candidates[i].Time, at)
	}
	return c
}
