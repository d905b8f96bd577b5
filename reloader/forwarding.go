package reloader

import "time"

// Forwarding is how far the records of a cluster have come to a hub, as the hub has it on record.
type Forwarding struct {
	Positions map[RecordKind]Position `json:"positions,omitempty" doc:"For each kind of record, the last one that is at the hub."`
	// Gaps end with the newest; older ones than the last few are forgotten.
	Gaps []Gap `json:"gaps,omitempty" doc:"Where records are missing at the hub, the newest last."`
	// Asked has the clusters of which workloads follow configs, or did lately, with when that was last so.
	Asked map[string]time.Time `json:"asked,omitempty" doc:"The clusters whose configs its workloads follow, with when that was last so."`
	At    time.Time            `json:"at" doc:"When the cluster last reported how far it is, by its own clock."`
}

// Behind returns how many records were still to come to the hub.
func (f Forwarding) Behind() (n uint64) {
	for _, p := range f.Positions {
		n += p.Behind
	}
	return n
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
	Stream   string `json:"stream" doc:"The stream that the sequence is of."`
	Sequence uint64 `json:"sequence" doc:"The sequence of the record."`
	Behind   uint64 `json:"behind,omitempty" doc:"How many records were still to come after it."`
	// Withdrawn is how far the hub was thought to be when it turned out to lack some of that; 0 if it never did. What it got on that word says that
	// the hub has all up to there, which is not to be believed.
	Withdrawn uint64 `json:"withdrawn,omitempty" doc:"How far the hub was thought to be when it turned out to lack some of that."`
}

// Gap is a place where records are missing at the hub.
type Gap struct {
	Kind    RecordKind `json:"kind" enum:"changes,reloads,workloads" doc:"Which kind of record."`
	Why     GapReason  `json:"reason" enum:"AgedOut,StreamRemade" doc:"AgedOut: the cluster had dropped them before they could be brought. StreamRemade: the cluster has lost its own records, or was set back to older ones."`
	Records uint64     `json:"count,omitempty" doc:"How many are missing at most. Absent if that is not known."`
	After   uint64     `json:"after" doc:"The sequence of the last record before the gap."`
	At      time.Time  `json:"at" doc:"When the gap was found."`
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
