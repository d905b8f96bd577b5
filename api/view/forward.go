package view

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Forward is how far the records of a cluster have come to the hub that answers.
type Forward struct {
	At     time.Time `json:"at" doc:"When the cluster last told how far it is, by its own clock."`
	Behind uint64    `json:"behind" doc:"How many of its records were still to come then. Of a cluster that is Away this is its last word, often 0: what it has stored since is not known here."`
	Gaps   []Gap     `json:"gaps" nullable:"false" doc:"Where records are missing, the newest last."`
}

// Gap is a place where records are missing at a hub.
type Gap struct {
	Records string    `json:"records" doc:"Which kind of record: changes, reloads or workloads." example:"changes"`
	Reason  string    `json:"reason" doc:"AgedOut: the cluster had dropped them before they could be brought. StreamRemade: the cluster has lost its own records, or was set back to older ones." example:"AgedOut"`
	Missing uint64    `json:"missing" doc:"How many are missing at most. 0 if nobody knows."`
	At      time.Time `json:"at" doc:"When that was found."`
}

// fromForwarding returns the view of f; nil if this is no hub.
func fromForwarding(f *reloader.Forwarding) *Forward {
	if f == nil {
		return nil
	}
	v := &Forward{At: f.At, Gaps: each(f.Gaps, func(g reloader.Gap) Gap {
		return Gap{Records: string(g.Kind), Reason: string(g.Why), Missing: g.Records, At: g.At}
	})}
	for _, p := range f.Positions {
		v.Behind += p.Behind
	}
	return v
}

// GapTime is how long a gap is a problem of its cluster; after that it is history.
const GapTime = 24 * time.Hour

// gapProblems says which records are missing.
func gapProblems(f *reloader.Forwarding, now time.Time) (found []string) {
	if f == nil {
		return nil
	}
	for _, g := range f.Gaps {
		switch {
		case now.Sub(g.At) > GapTime:
		case g.Why == reloader.GapAgedOut:
			found = append(found, fmt.Sprintf("Up to %d %s are missing here: the cluster had dropped them before they could be brought.", g.Records, g.Kind))
		default:
			found = append(found, fmt.Sprintf("Some %s may be missing here: the cluster has lost its own.", g.Kind))
		}
	}
	return found
}
