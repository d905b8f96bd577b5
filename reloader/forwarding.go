package reloader

import "time"

// Forwarding is how far the records of a cluster have come to a hub, as the hub has it on record.
type Forwarding struct {
	// Positions has, for each kind of record, the last one that is at the hub.
	Positions map[RecordKind]Position `json:"positions,omitempty"`
	// Gaps are what never came, the newest last; older ones than the last few are forgotten.
	Gaps []Gap `json:"gaps,omitempty"`
	// Asked has the clusters of which workloads follow configs, or did lately, with when that was last so. Versions before this give none.
	Asked map[string]time.Time `json:"asked,omitempty"`
	// At is when this was so, by the cluster's clock.
	At time.Time `json:"at"`
}

// RecordKind names the records of one stream.
type RecordKind string

// The kinds of record that are brought to a hub.
const (
	ChangeRecords   RecordKind = "changes"
	ReloadRecords   RecordKind = "reloads"
	WorkloadRecords RecordKind = "workloads"
)

// Position is a place in a stream. Sequences of different streams cannot be compared, also if the streams have the same name.
type Position struct {
	Stream   string `json:"stream"`
	Sequence uint64 `json:"sequence"`
	// Behind is how many records were still to come after it.
	Behind uint64 `json:"behind,omitempty"`
	// Withdrawn is how far the hub was thought to be when it turned out to lack some of that; 0 if it never did. What it got on that word says that
	// the hub has all up to there, which is not to be believed. Versions before this give none.
	Withdrawn uint64 `json:"withdrawn,omitempty"`
}

// Gap is a place where records are missing at the hub.
type Gap struct {
	Kind RecordKind `json:"kind"`
	Why  GapReason  `json:"why"`
	// Records is how many are missing; 0 if nobody knows, or if it may be none.
	Records uint64 `json:"records,omitempty"`
	// After is the sequence of the last record before the gap.
	After uint64 `json:"after"`
	// At is when the gap was found.
	At time.Time `json:"at"`
}

// GapReason is why records are missing.
type GapReason string

// The reasons of gaps.
const (
	// GapAgedOut: the cluster had dropped them before they could be brought, since newer ones needed the room.
	GapAgedOut GapReason = "AgedOut"
	// GapStreamRemade: the cluster has lost its stream, or was set back to an older state of it.
	GapStreamRemade GapReason = "StreamRemade"
)

// maxGaps bounds the gaps that are remembered.
const maxGaps = 16

// WithGap returns f with one more gap. One that goes on where the last one of its kind was found is made part of that.
func (f Forwarding) WithGap(g Gap) Forwarding {
	gaps := append([]Gap(nil), f.Gaps...)
	if n := len(gaps); n > 0 && g.Why == GapAgedOut && gaps[n-1].Kind == g.Kind && gaps[n-1].Why == g.Why && g.At.Sub(gaps[n-1].At) < time.Minute {
		gaps[n-1].Records += g.Records
		f.Gaps = gaps
		return f
	}
	gaps = append(gaps, g)
	f.Gaps = gaps[max(0, len(gaps)-maxGaps):]
	return f
}
