package applied

import "time"

// second cuts t to the resolution of Kubernetes' times.
func second(t time.Time) time.Time { return t.Truncate(time.Second) }

// notBefore reports whether a is in the second of b or later. A time that is unknown is not.
func notBefore(a, b time.Time) bool {
	return !a.IsZero() && !b.IsZero() && !second(a).Before(second(b))
}

// ThereBy returns a time when the content of l was certainly there: when data was written, if that was after asOf, a time at which the
// content before it was known, and no key was taken away; or else when l was first seen.
func (l Live) ThereBy(asOf time.Time) time.Time {
	written := l.DataWritten
	if l.Absent() || l.Shrunk || !second(written).After(asOf) || written.After(l.Seen) {
		return l.Seen
	}
	if l.Touched.After(written) {
		written = l.Touched
	}
	if l.Seen.Before(written) {
		return l.Seen
	}
	return written
}

// Pods are the pods of a workload, without those that have ended. The zero Pods says that nothing is known of them.
type Pods struct {
	Known bool
	All   []Pod
}

// Pod is one pod.
type Pod struct {
	// Starts are when the containers started that run, and the init containers that have ended: what those read is still in use. A pod that
	// waits has none, and has read nothing.
	Starts []time.Time
	// Earlier says that the pod is of an earlier template, and will be replaced.
	Earlier bool
}

// OneStartedBy reports whether a container is known to have started in the second of t or before.
func (p Pods) OneStartedBy(t time.Time) bool {
	for _, pod := range p.All {
		for _, s := range pod.Starts {
			if p.Known && notBefore(t, s) {
				return true
			}
		}
	}
	return false
}

// AllStartedAfter reports whether there are pods, and no container of them has started in the second of t or before.
func (p Pods) AllStartedAfter(t time.Time) bool {
	return p.Known && len(p.All) > 0 && !t.IsZero() && !p.OneStartedBy(t)
}

// OneStartedBetween reports whether a container of the current template may have started between two times. The first may be zero: any
// start before the second counts.
func (p Pods) OneStartedBetween(after, before time.Time) bool {
	for _, pod := range p.All {
		for _, s := range pod.Starts {
			if p.Known && !pod.Earlier && notBefore(before, s) && (after.IsZero() || notBefore(s, after)) {
				return true
			}
		}
	}
	return false
}
