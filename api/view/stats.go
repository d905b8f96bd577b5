package view

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Stats counts what happened in a span of time.
type Stats struct {
	Since         time.Time  `json:"since" doc:"The beginning of the span."`
	Until         time.Time  `json:"until" doc:"The end of the span, which is no part of it."`
	BucketSeconds int64      `json:"bucketSeconds" doc:"How long each bucket is."`
	Total         Counts     `json:"total" doc:"The whole span."`
	Buckets       []Bucket   `json:"buckets" nullable:"false" doc:"The span in pieces, oldest first; also those in which nothing happened."`
	Workloads     []TopEntry `json:"workloads" nullable:"false" doc:"The workloads that rolled most, at most ten."`
	Configs       []TopEntry `json:"configs" nullable:"false" doc:"The configs that changed most, at most ten."`
	Warnings      []string   `json:"warnings" nullable:"false" doc:"What may be missing from this answer, for people. Empty if it is complete."`
}

// Bucket is one piece of the span.
type Bucket struct {
	Start time.Time `json:"start" doc:"When it begins."`
	Counts
}

// Counts is what happened in one span.
type Counts struct {
	Changes  int            `json:"changes" doc:"How many changes were verified; baselines are none."`
	Reloads  int            `json:"reloads" doc:"How many decisions about workloads were made."`
	Outcomes []OutcomeCount `json:"outcomes" nullable:"false" doc:"The same by outcome."`
	Latency  *Latency       `json:"latency,omitempty" doc:"How long it took from the request to the patch, or from the end of the wait where something held it back on purpose, such as a freeze. Absent if nothing was patched whose request is known."`
}

// OutcomeCount is how many reloads ended in one way.
type OutcomeCount struct {
	Outcome reloader.Reason `json:"outcome" doc:"The outcome."`
	Count   int             `json:"count" doc:"How many."`
}

// Latency is how long it took from a request that changed a config to the patch of a workload, in seconds.
type Latency struct {
	Count int     `json:"count" doc:"How many were measured."`
	P50   float64 `json:"p50" doc:"Half of them took no longer."`
	P95   float64 `json:"p95" doc:"95 in 100 took no longer."`
	P99   float64 `json:"p99" doc:"99 in 100 took no longer."`
}

// TopEntry is something that happened often.
type TopEntry struct {
	Cluster   string `json:"cluster" doc:"Its cluster."`
	Kind      string `json:"kind" doc:"Its kind."`
	Namespace string `json:"namespace" doc:"Its namespace."`
	Name      string `json:"name" doc:"Its name."`
	Count     int    `json:"count" doc:"How often."`
}

// topLength is how many of the most frequent are shown.
const topLength = 10

// Tally counts changes and reloads into buckets. Make one with NewTally.
type Tally struct {
	since  time.Time
	until  time.Time
	bucket time.Duration
	counts []tallied
	total  tallied
	rolled map[TopEntry]int
	edited map[TopEntry]int
}

type tallied struct {
	changes  int
	outcomes map[reloader.Reason]int
	seconds  []float64
}

// NewTally returns a Tally of the span from since until until, in buckets of that length; the last may end later.
func NewTally(since, until time.Time, bucket time.Duration) *Tally {
	n := int((until.Sub(since) + bucket - 1) / bucket)
	t := &Tally{
		since: since, until: until, bucket: bucket, counts: make([]tallied, n),
		total: tallied{outcomes: map[reloader.Reason]int{}}, rolled: map[TopEntry]int{}, edited: map[TopEntry]int{},
	}
	for i := range t.counts {
		t.counts[i].outcomes = map[reloader.Reason]int{}
	}
	return t
}

// at returns the bucket of a time; nil if it is outside the span.
func (t *Tally) at(moment time.Time) *tallied {
	if moment.Before(t.since) || !moment.Before(t.until) {
		return nil
	}
	return &t.counts[int(moment.Sub(t.since)/t.bucket)]
}

// AddChange counts c. A baseline is no change.
func (t *Tally) AddChange(c *reloader.Change) {
	bucket := t.at(c.VerifiedAt)
	if bucket == nil || c.Type == reloader.ChangeBaseline {
		return
	}
	bucket.changes++
	t.total.changes++
	t.edited[TopEntry{Cluster: c.Cluster, Kind: string(c.Config.Kind), Namespace: c.Config.Namespace, Name: c.Config.Name}]++
}

// AddReload counts r.
func (t *Tally) AddReload(r *reloader.Reload) {
	bucket := t.at(r.DecidedAt)
	if bucket == nil {
		return
	}
	bucket.outcomes[r.Outcome]++
	t.total.outcomes[r.Outcome]++
	if took, ok := r.Latency(); ok {
		bucket.seconds = append(bucket.seconds, took.Seconds())
	}
	if !r.PatchedAt.IsZero() {
		t.rolled[TopEntry{Cluster: r.Cluster, Kind: r.Workload.Kind, Namespace: r.Workload.Namespace, Name: r.Workload.Name}]++
	}
}

// Stats returns what was counted.
func (t *Tally) Stats() Stats {
	// Those of the whole are put together once, in room that fits: beside those of the pieces they would grow to several times that.
	measured := 0
	for _, counts := range t.counts {
		measured += len(counts.seconds)
	}
	t.total.seconds = make([]float64, 0, measured)
	for _, counts := range t.counts {
		t.total.seconds = append(t.total.seconds, counts.seconds...)
	}
	s := Stats{
		Since: t.since, Until: t.until, BucketSeconds: int64(t.bucket / time.Second), Total: t.total.show(), Buckets: []Bucket{},
		Workloads: top(t.rolled), Configs: top(t.edited), Warnings: []string{},
	}
	for i, counts := range t.counts {
		s.Buckets = append(s.Buckets, Bucket{Start: t.since.Add(time.Duration(i) * t.bucket), Counts: counts.show()})
	}
	return s
}

func (c tallied) show() Counts {
	v := Counts{Changes: c.changes, Outcomes: []OutcomeCount{}}
	for _, outcome := range slices.Sorted(maps.Keys(c.outcomes)) {
		v.Reloads += c.outcomes[outcome]
		v.Outcomes = append(v.Outcomes, OutcomeCount{Outcome: outcome, Count: c.outcomes[outcome]})
	}
	if n := len(c.seconds); n > 0 {
		slices.Sort(c.seconds)
		rank := func(percent int) float64 { return c.seconds[(n*percent+99)/100-1] }
		v.Latency = &Latency{Count: n, P50: rank(50), P95: rank(95), P99: rank(99)}
	}
	return v
}

// top returns the most frequent, the most frequent first.
func top(counts map[TopEntry]int) []TopEntry {
	list := make([]TopEntry, 0, len(counts))
	for entry, n := range counts {
		entry.Count = n
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b TopEntry) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cluster, b.Cluster))
	})
	return list[:min(len(list), topLength)]
}
