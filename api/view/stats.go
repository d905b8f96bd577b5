package view

import (
	"cmp"
	"slices"
	"sync"
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
	took     []int32
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

// counting is what Count works with. It is used again: each has some megabytes in a large fleet.
type counting struct {
	figures         []projection.Figure
	shown           map[unique.Handle[projection.Place]]bool
	rolled, changed tops
}

var countings = sync.Pool{New: func() any {
	return &counting{shown: map[unique.Handle[projection.Place]]bool{}, rolled: tops{}, changed: tops{}}
}}

// Count counts what is seen of records, in whole seconds from since until until.
func Count(records *projection.Projection, since, until time.Time, seen func(projection.Place) bool) Stats {
	from, length := since.Unix(), until.Add(time.Second-1).Unix()-since.Unix()
	piece := (length + mostBuckets - 1) / mostBuckets
	s := Stats{Total: newCounts(), Warnings: []string{}}
	for at := int64(0); at < length; at += piece {
		s.Buckets = append(s.Buckets, Bucket{time.Unix(from+at, 0).UTC(), newCounts()})
	}
	outcomes := make([]int, len(s.Buckets)*len(reloader.Outcomes)) // a map for each would take half of the time
	c := countings.Get().(*counting)                               //nolint:forcetypeassert // nothing else is put there
	defer countings.Put(c)
	clear(c.shown)
	clear(c.rolled)
	clear(c.changed)
	c.figures = records.AppendFigures(c.figures[:0], from, from+length)
	for i, f := range c.figures {
		at := int64(f.Second) - from
		show, known := c.shown[f.In]
		if !known {
			show = seen(f.In.Value())
			c.shown[f.In] = show
		}
		if !show {
			continue
		}
		b := &s.Buckets[at/piece]
		switch {
		case f.Change:
			b.Changes++
			c.changed.add(f.Of, i)
			continue
		case f.Patched:
			c.rolled.add(f.Of, i)
		}
		if f.Outcome >= 0 {
			outcomes[int(at/piece)*len(reloader.Outcomes)+int(f.Outcome)]++
		}
		if f.Took >= 0 {
			b.took = append(b.took, f.Took)
		}
	}
	for i := range s.Buckets {
		b := &s.Buckets[i].Counts
		b.measure()
		s.Total.Changes += b.Changes
		s.Total.took = append(s.Total.took, b.took...)
		for o, outcome := range reloader.Outcomes {
			if n := outcomes[i*len(reloader.Outcomes)+o]; n > 0 {
				b.Outcomes[outcome] = n
				s.Total.Outcomes[outcome] += n
			}
		}
	}
	s.Total.measure()
	s.Workloads, s.Configs = c.rolled.entries(), c.changed.entries()
	return s
}

func newCounts() Counts { return Counts{Outcomes: map[reloader.Reason]int{}} }

func (c *Counts) measure() {
	if n := len(c.took); n > 0 {
		slices.Sort(c.took)
		c.Latency = &Latency{P50: seconds(c.took[(n*50+99)/100-1]), P95: seconds(c.took[(n*95+99)/100-1])}
	}
}

func seconds(took int32) float64 { return (time.Duration(took) * projection.TookUnit).Seconds() }

// tops counts how often something happened to each subject, and notes which figure of it is the last.
type tops map[unique.Handle[projection.Subject]]often

type often struct {
	of          unique.Handle[projection.Subject]
	count, last int
}

func (t tops) add(of unique.Handle[projection.Subject], at int) {
	t[of] = often{of, t[of].count + 1, at}
}

// entries returns the most frequent, the most frequent first, and of equal ones the newest.
func (t tops) entries() []TopEntry {
	best := make([]often, 0, topLength+1)
	for _, o := range t {
		at, _ := slices.BinarySearchFunc(best, o, func(a, b often) int { return cmp.Or(b.count-a.count, b.last-a.last) })
		best = slices.Insert(best, at, o)
		best = best[:min(len(best), topLength)]
	}
	list := make([]TopEntry, len(best))
	for i, o := range best {
		list[i] = TopEntry{o.of.Value(), o.count}
	}
	return list
}
