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
	Until         time.Time  `json:"until" doc:"The end of the span, exclusive."`
	BucketSeconds int64      `json:"bucketSeconds" doc:"How long each bucket is."`
	Total         Counts     `json:"total" doc:"The whole span."`
	Buckets       []Bucket   `json:"buckets" nullable:"false" doc:"The span in pieces, oldest first; also empty ones."`
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
	Changes  int            `json:"changes" doc:"How many changes were verified, without baselines."`
	Reloads  int            `json:"reloads" doc:"How many decisions about workloads were made."`
	Outcomes []OutcomeCount `json:"outcomes" nullable:"false" doc:"The same by outcome."`
	Latency  *Latency       `json:"latency,omitempty" doc:"The time from the request to the patch. If something held the reload back on purpose, such as a freeze, the time from the end of that wait. Absent if no patched change has a known request."`
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
	since, until time.Time
	bucket       time.Duration
	// counts has a count for each bucket, and one for all of them.
	counts         []count
	rolled, edited map[TopEntry]int
}

type count struct {
	changes  int
	outcomes map[reloader.Reason]int
	seconds  []float64
}

// NewTally returns a Tally of the span from since until until, in buckets of that length; the last may end later.
func NewTally(since, until time.Time, bucket time.Duration) *Tally {
	n := int((until.Sub(since) + bucket - 1) / bucket)
	t := &Tally{since: since, until: until, bucket: bucket, counts: make([]count, n+1), rolled: map[TopEntry]int{}, edited: map[TopEntry]int{}}
	for i := range t.counts {
		t.counts[i].outcomes = map[reloader.Reason]int{}
	}
	return t
}

// at returns the counts that a moment belongs to; none if it is outside the span.
func (t *Tally) at(moment time.Time) []*count {
	if moment.Before(t.since) || !moment.Before(t.until) {
		return nil
	}
	return []*count{&t.counts[int(moment.Sub(t.since)/t.bucket)], &t.counts[len(t.counts)-1]}
}

// AddChange counts c. A baseline is not a change.
func (t *Tally) AddChange(c *reloader.Change) {
	counts := t.at(c.VerifiedAt)
	if counts == nil || c.Type == reloader.ChangeBaseline {
		return
	}
	for _, n := range counts {
		n.changes++
	}
	t.edited[TopEntry{Cluster: c.Cluster, Kind: string(c.Config.Kind), Namespace: c.Config.Namespace, Name: c.Config.Name}]++
}

// AddReload counts r.
func (t *Tally) AddReload(r *reloader.Reload) {
	counts := t.at(r.DecidedAt)
	took, measured := r.Latency()
	for _, n := range counts {
		n.outcomes[r.Outcome]++
		if measured {
			n.seconds = append(n.seconds, took.Seconds())
		}
	}
	if counts != nil && !r.PatchedAt.IsZero() {
		t.rolled[TopEntry{Cluster: r.Cluster, Kind: r.Workload.Kind, Namespace: r.Workload.Namespace, Name: r.Workload.Name}]++
	}
}

// Stats returns what was counted.
func (t *Tally) Stats() Stats {
	last := len(t.counts) - 1
	s := Stats{
		Since: t.since, Until: t.until, BucketSeconds: int64(t.bucket / time.Second), Total: t.counts[last].show(), Buckets: []Bucket{},
		Workloads: top(t.rolled), Configs: top(t.edited), Warnings: []string{},
	}
	for i, n := range t.counts[:last] {
		s.Buckets = append(s.Buckets, Bucket{Start: t.since.Add(time.Duration(i) * t.bucket), Counts: n.show()})
	}
	return s
}

func (c count) show() Counts {
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
