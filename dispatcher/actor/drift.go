package actor

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// DriftTime is how long after the sweep has found a change its hint may still come, without the change counting as missed by the feed.
const DriftTime = 5 * time.Minute

// Drift is a change that the sweep found although no hint had reported it yet.
type Drift struct {
	Config   reloader.Config
	ChangeID string
	Found    time.Time
	// Reported says that a hint has come that may be of that write.
	Reported bool
}

// Due returns when it is decided whether the feed has missed the change.
func (d Drift) Due() time.Time { return d.Found.Add(DriftTime) }

// Hear returns d after a hint about its config. A hint about a write after the change was found reports nothing of it.
func (d Drift) Hear(h reloader.Hint) Drift {
	d.Reported = d.Reported || !h.Time.After(d.Found.Add(slack))
	return d
}

// Missed returns why no hint came, for people, and reports whether the feed has missed the change. A feed that works for ConfigMaps and Secrets may
// leave out rotations for good: they are about a resource of their own, which an audit policy or the filter of a log shipper has to keep.
func (d Drift) Missed() (cause string, missed bool) {
	if told := d.Config.Kind.Info().Told; told != "" {
		cause = "no source reports rotations; audit policy and shipping filters must keep updates of " + told
	} else {
		cause = "the feed has missed it"
	}
	return cause, !d.Reported
}
