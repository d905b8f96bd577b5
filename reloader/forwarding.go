package reloader

import "time"

// Position is how far one stream of a cluster is at a hub. It is the last message of each batch that a cluster forwards, so records and position are
// stored together or not at all.
type Position struct {
	Of     string    `json:"of" enum:"HISTORY,STATE" doc:"The stream: HISTORY has changes and reloads, STATE has workloads and the status."`
	UID    string    `json:"uid" doc:"The UID of the cluster."`
	Stream time.Time `json:"stream" doc:"When the stream was created in the cluster."`
	// Sequence is the last record that is at the hub, stored in the cluster at StoredAt.
	Sequence uint64    `json:"sequence" doc:"The last record of the stream that is at the hub."`
	StoredAt time.Time `json:"storedAt,omitzero" doc:"When that record was stored in the cluster."`
	// Since is the last record when the cluster joined the hub. Records dropped before it are not a gap.
	Since  uint64 `json:"since,omitempty" doc:"The last record of the stream when the cluster joined the hub."`
	Behind uint64 `json:"behind,omitempty" doc:"How many records were still to come. For a cluster that is Away, this is the last reported number."`
	// Gaps end with the newest; only the last maxGaps are kept.
	Gaps []Gap     `json:"gaps,omitempty" doc:"Where records are missing at the hub, the newest last."`
	At   time.Time `json:"at" doc:"When this was so, by the clock of the cluster."`
}

// Gap is a place where records are missing at the hub.
type Gap struct {
	Lost    bool      `json:"lost,omitempty" doc:"Whether the cluster lost its own records, or returned to older ones. If not, it dropped them before they were forwarded, since newer ones needed the room."`
	Records uint64    `json:"count,omitempty" doc:"How many are missing at most. Absent if that is not known."`
	After   uint64    `json:"after" doc:"The sequence of the last record before the gap."`
	At      time.Time `json:"at" doc:"When the gap was found."`
}

// maxGaps bounds the gaps of a Position.
const maxGaps = 32

// WithGap returns p with one more gap. Dropped records that follow a gap found within the last minute extend that gap.
func (p Position) WithGap(g Gap) Position {
	gaps := append([]Gap(nil), p.Gaps...)
	if n := len(gaps); n > 0 && !g.Lost && !gaps[n-1].Lost && g.At.Sub(gaps[n-1].At) < time.Minute {
		gaps[n-1].Records += g.Records
	} else {
		gaps = append(gaps, g)
	}
	p.Gaps = gaps[max(0, len(gaps)-maxGaps):]
	return p
}
