package main

import (
	"fmt"
	"slices"
	"time"
)

func heading(text string) { fmt.Printf("\n== %s\n", text) }

func row(what string, format string, arguments ...any) {
	fmt.Printf("   %-44s %s\n", what, fmt.Sprintf(format, arguments...))
}

// percentiles returns p50, p95, p99 and the longest of took.
func percentiles(took []time.Duration) string {
	sorted := slices.Sorted(slices.Values(took))
	at := func(p float64) string { return ms(sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]) }
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s, max %s", at(.50), at(.95), at(.99), at(1))
}

func mean(took []time.Duration) string {
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	return ms(sum / time.Duration(len(took)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
