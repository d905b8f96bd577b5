package plan

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// second cuts t to the resolution of Kubernetes' times.
func second(t time.Time) time.Time { return t.Truncate(time.Second) }

// notBefore reports whether a is in the second of b or later. A time that is unknown is not.
func notBefore(a, b time.Time) bool {
	return !a.IsZero() && !b.IsZero() && !second(a).Before(second(b))
}

// edited reports whether data was certainly written after the object was made.
func (c Case) edited() bool {
	return !c.Live.Created.IsZero() && second(c.Live.DataWritten).After(second(c.Live.Created))
}

// thereBy returns a time when the live content was certainly there: when data was written, if that was after AsOf and no key was taken away, or else
// when it was first seen. Another cluster has another clock, so its times say nothing.
func (c Case) thereBy() time.Time {
	l := c.Live
	if c.Config.Cluster != "" || l.Absent() || l.Shrunk || !second(l.DataWritten).After(c.AsOf) || l.DataWritten.After(l.Seen) {
		return l.Seen
	}
	return reloader.Earlier(l.Seen, reloader.Later(l.DataWritten, l.Touched))
}

// starts returns the containers that have started and not ended; with current, only those of pods that stay and have the current template.
func starts(pods workload.Pods, current bool) (found []workload.Start) {
	for _, p := range pods.Of {
		if pods.Known && !p.Ended && (!current || p.Current && !p.Going) {
			found = append(found, p.Containers...)
		}
	}
	return found
}

// oneStartedBy reports whether a container is known to have started in the second of t or before.
func oneStartedBy(pods workload.Pods, t time.Time) bool {
	return slices.ContainsFunc(starts(pods, false), func(s workload.Start) bool { return notBefore(t, s.At) })
}

// allStartedAfter reports whether there are pods, and no container of them has started in the second of t or before.
func allStartedAfter(pods workload.Pods, t time.Time) bool {
	left := slices.ContainsFunc(pods.Of, func(p workload.Pod) bool { return !p.Ended })
	return pods.Known && left && !t.IsZero() && !oneStartedBy(pods, t)
}

// oneStartedBetween reports whether a container of the current template may have started between two times. The first may be zero: any
// start before the second counts.
func oneStartedBetween(pods workload.Pods, after, before time.Time) bool {
	return slices.ContainsFunc(starts(pods, true), func(s workload.Start) bool {
		return notBefore(before, s.At) && (after.IsZero() || notBefore(s.At, after))
	})
}
