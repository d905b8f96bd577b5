package main

import (
	"fmt"
	"slices"
	"time"
)

// late is how much later than it happened a roll may be seen: the API server tells watchers of it when it has time.
const late = 3 * time.Second

// tooFast returns the first stretch of time with more rolls in it than the limit lets through: a tenth of what it lets through in a
// minute may come at once, and then so many as time passes. at is in order.
func tooFast(at []time.Time, perMinute int) string {
	rate, burst := float64(perMinute)/60, float64(max(1, perMinute/10))
	for i := range at {
		for j := i + 1; j < len(at); j++ {
			took := at[j].Sub(at[i])
			if n := j - i + 1; float64(n) > burst+rate*(took+late).Seconds()+1 {
				return fmt.Sprintf("%d rolls within %s", n, took.Round(time.Millisecond))
			}
		}
	}
	return ""
}

// notOnce returns the faults of workloads that did not roll exactly once.
func (o options) notOnce(rolls map[string]int64) []string {
	var faults []string
	for i := range o.Workloads {
		if n := rolls[workloadName(i)]; n != 1 {
			faults = append(faults, fmt.Sprintf("%s rolled %d times", workloadName(i), n))
		}
	}
	return faults
}

// moved returns the faults of bystanders that rolled.
func (o options) moved(rolls map[string]int64) []string {
	var faults []string
	for i := range o.Bystanders {
		if n := rolls[bystanderName(i)]; n != 0 {
			faults = append(faults, fmt.Sprintf("%s rolled %d times, and nothing of it had changed", bystanderName(i), n))
		}
	}
	return faults
}

// hidden returns what cannot be seen although it should be: that very many wait, that ever fewer do, and none in the end.
func (o options) hidden(samples []sample) []string {
	var faults []string
	most := 0
	for i, s := range samples {
		most = max(most, s.held)
		if i > 0 && s.struck && samples[i-1].struck && s.pending > samples[i-1].pending {
			faults = append(faults, fmt.Sprintf("after %s %d wait, more than the %d before", s.after.Round(time.Second), s.pending, samples[i-1].pending))
		}
	}
	if most < o.Workloads/4 {
		faults = append(faults, fmt.Sprintf("no more than %d workloads were ever shown as held back by the rate", most))
	}
	if !slices.ContainsFunc(samples, func(s sample) bool { return s.struck }) {
		faults = append(faults, "the changes were never counted")
	}
	if last := samples[len(samples)-1]; last.pending != 0 || last.held != 0 {
		faults = append(faults, fmt.Sprintf("%d wait in the end, %d are held", last.pending, last.held))
	}
	return faults
}
