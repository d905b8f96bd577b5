package queue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// An owner goes on copying for who follows nothing of it any more until it hears so, or has not heard for a day. Who was asked stands at the hub with
// the status, so that a process that starts when nothing is followed can say so as well. It says so again and again: an owner may be away.

// askedTime is how long an owner remembers who asked it.
const askedTime = 24 * time.Hour

// maxAsked bounds the owners that are remembered: an owner is whatever a label says, and all of them have to fit into the status.
const maxAsked = 256

// recallAsked takes over which owners were asked before, from what the hub has on record, by a clock that may have been ahead. The caller holds mu.
func (f *Forwarder) recallAsked(now time.Time) {
	for owner, at := range f.state.Asked {
		if at.After(now) {
			at = now
		}
		if reloader.ValidateCluster(owner) == nil && at.After(f.asked[owner]) {
			f.asked[owner] = at
		}
	}
	f.limitAsked()
}

// limitAsked forgets the owners that were asked longest ago if they are too many. The caller holds mu.
func (f *Forwarder) limitAsked() {
	oldestFirst := slices.SortedFunc(maps.Keys(f.asked), func(a, b string) int { return cmp.Or(f.asked[a].Compare(f.asked[b]), cmp.Compare(a, b)) })
	for _, owner := range oldestFirst[:max(0, len(oldestFirst)-maxAsked)] {
		delete(f.asked, owner)
	}
}

// parted returns the owners that were asked lately and are not asked for anything now, and takes note of those that are.
func (f *Forwarder) parted(from map[string]*reloader.Want, now time.Time) (owners []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for owner := range from {
		if _, known := f.asked[owner]; !known {
			f.hurry()
		}
		f.asked[owner] = now
	}
	f.limitAsked()
	for owner, at := range f.asked {
		switch {
		case now.Sub(at) > askedTime:
			delete(f.asked, owner)
		case from[owner] == nil:
			owners = append(owners, owner)
		}
	}
	return owners
}
