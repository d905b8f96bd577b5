package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// received is a copy that has come.
type received struct {
	reloader.Copy
	at time.Time
}

// Follow replaces what the workloads here want to follow, by their namespace. It returns the configs that other clusters must be asked for, sorted,
// and those that are left out since this call, because too many are wanted of one cluster.
func (f *Fleet) Follow(wanted map[string][]reloader.Config) (ask []reloader.Follow, leftOut []reloader.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
			numbers[c] = cmp.Or(f.asked[c], uint64(time.Now().UnixNano()))
			ask = append(ask, reloader.Follow{Config: c, Number: numbers[c]})
		}
	}
	for c := range unasked {
		if _, known := f.leftOut[c]; !known {
			leftOut = append(leftOut, c)
		}
	}
	f.asked, f.leftOut = numbers, unasked
	maps.DeleteFunc(f.copies, func(c reloader.Config, _ received) bool { return numbers[c] == 0 })
	slices.SortFunc(ask, func(a, b reloader.Follow) int { return a.Config.Compare(b.Config) })
	return ask, leftOut
}

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

// Receive takes a copy from the owner of a config, and reports whether the config is followed here; otherwise the copy is dropped. A copy that is
// older than the one before does no harm for a long time: copies come again and again.
func (f *Fleet) Receive(c reloader.Copy) (followed bool) {
	config := c.Followed()
	f.mu.Lock()
	_, followed = f.asked[config]
	was, known := f.copies[config]
	news := followed && !(known && was.Same(c))
	if news {
		f.copies[config] = received{c, time.Now()}
	}
	f.mu.Unlock()
	if news {
		f.News(config)
	}
	return followed
}

// FollowError says why nothing is known of a followed config.
type FollowError struct{ reason string }

// Error implements error.
func (e FollowError) Error() string { return e.reason }

// Newest returns the newest change of c, with the config as it is called here. None of its times is later than when it came. The error is a FollowError.
func (f *Fleet) Newest(c reloader.Config) (reloader.Change, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
