package view

import (
	"cmp"
	"slices"
	"time"
	"unique"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// Stats counts what happened in a span of time.
type Stats struct {
	Total     Counts     `json:"total" doc:"The whole span."`
	Buckets   []Bucket   `json:"buckets" nullable:"false" doc:"The span in at most 48 pieces of equal length, oldest first; also empty ones."`
	Workloads []TopEntry `json:"workloads" nullable:"false" doc:"The workloads that rolled most, at most ten."`
	Configs   []TopEntry `json:"configs" nullable:"false" doc:"The configs that changed most, at most ten."`
	Warnings  []string   `json:"warnings" nullable:"false" doc:"What may be missing from this answer, for people. Empty if it is complete."`
}

// Bucket is one piece of the span.
type Bucket struct {
	Start time.Time `json:"start" doc:"When it begins."`
	Counts
}

// Counts is what happened in one span.
type Counts struct {
	Changes  int                     `json:"changes" doc:"How many changes were verified, without baselines."`
	Outcomes map[reloader.Reason]int `json:"outcomes" doc:"How many decisions about workloads were made, by outcome."`
	Latency  *Latency                `json:"latency,omitempty" doc:"The time from the request to the patch. If something held the reload back on purpose, such as a freeze, the time from the end of that wait. Absent if no patched change has a known request."`
	seconds  []float64
}

// Latency is how long it took from a request that changed a config to the patch of a workload, in seconds.
type Latency struct {
	P50 float64 `json:"p50" doc:"Half of them took no longer."`
	P95 float64 `json:"p95" doc:"95 in 100 took no longer."`
}

// TopEntry is something that happened often.
type TopEntry struct {
	projection.Subject
	Count int `json:"count" doc:"How often."`
}

// A span has at most that many buckets, and that many of the most frequent are shown.
const mostBuckets, topLength = 48, 10

// Count counts the figures of what is seen, in whole seconds from since until until.
func Count(figures []projection.Figure, since, until time.Time, seen func(projection.Subject) bool) Stats {
	from, length := since.Unix(), until.Add(time.Second-1).Unix()-since.Unix()
	piece := (length + mostBuckets - 1) / mostBuckets
	s := Stats{Total: newCounts(), Warnings: []string{}}
	for at := int64(0); at < length; at += piece {
		s.Buckets = append(s.Buckets, Bucket{time.Unix(from+at, 0).UTC(), newCounts()})
	}
	rolled, edited := map[unique.Handle[projection.Subject]]int{}, map[unique.Handle[projection.Subject]]int{}
	for _, f := range figures {
		at := f.Second - from
		if at < 0 || at >= length || !seen(f.Of.Value()) {
			continue
		}
		s.Total.add(f)
		s.Buckets[at/piece].add(f)
		switch {
		case f.Change:
			edited[f.Of]++
		case f.Patched:
			rolled[f.Of]++
		}
	}
	s.Total.measure()
	for i := range s.Buckets {
		s.Buckets[i].measure()
	}
	s.Workloads, s.Configs = top(rolled), top(edited)
	return s
}

func newCounts() Counts { return Counts{Outcomes: map[reloader.Reason]int{}} }

func (c *Counts) add(f projection.Figure) {
	if f.Change {
		c.Changes++
		return
	}
	c.Outcomes[f.Outcome]++
	if f.Took >= 0 {
		c.seconds = append(c.seconds, f.Took.Seconds())
	}
}

func (c *Counts) measure() {
	if n := len(c.seconds); n > 0 {
		slices.Sort(c.seconds)
		c.Latency = &Latency{P50: c.seconds[(n*50+99)/100-1], P95: c.seconds[(n*95+99)/100-1]}
	}
}

// top returns the most frequent, the most frequent first.
func top(counts map[unique.Handle[projection.Subject]]int) []TopEntry {
	list := make([]TopEntry, 0, topLength+1)
	for of, n := range counts {
		if len(list) == topLength && n < list[topLength-1].Count {
			continue
		}
		entry := TopEntry{of.Value(), n}
		at, _ := slices.BinarySearchFunc(list, entry, compare)
		list = slices.Insert(list, at, entry)
		list = list[:min(len(list), topLength)]
	}
	return list
}

func compare(a, b TopEntry) int {
	if a.Count != b.Count {
		return cmp.Compare(b.Count, a.Count)
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cluster, b.Cluster))
}
